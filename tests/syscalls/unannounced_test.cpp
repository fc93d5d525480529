// T04: threads that sleep in the kernel in unannounced calls. Their Ps run other goroutines, and their sleep is not
// disturbed.
#include "core/current.h"
#include "os/late_code.h"
#include "support/child.h"
#include "support/gate.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/plugin.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/tries.h"
#include "support/two_threads.h"
#include "support/wait_until.h"
#include "syscalls/sleepers.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::gate;
using test::run_at;

class unannounced : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(unannounced);

TEST_P(unannounced, T04_others_run_while_all_ps_sleep_in_the_kernel) {
  run([] { test::expect_others_to_run_while_all_ps_sleep(procs()); });
}

void expect_that_the_stats_name_the_place(options const& chosen) {
  test::run_with(chosen, [] {
    gate kernel;
    wait_group all;
    all.go([&] { kernel.wait(); });
    do {
      sleep_for(1ms);
    } while (read_stats().unannounced == 0);
    kernel.open();
    all.wait();
    auto const calls = read_stats().unannounced_calls;
    ASSERT_FALSE(calls.empty());
    EXPECT_GT(calls[0].count, 0U);
    if (!test::emulated() && !rt::with_tsan) {  // TSan's own frames would be in between
      EXPECT_EQ(calls[0].system_call, SYS_read);
      Dl_info where{};
      ASSERT_NE(::dladdr(calls[0].caller, &where), 0);
      Dl_info here{};
      ASSERT_NE(::dladdr(reinterpret_cast<void const*>(&test::emulated), &here), 0);
      EXPECT_EQ(where.dli_fbase, here.dli_fbase) << "in the program itself";
    }
  });
}

TEST(unannounced_calls, T04_the_stats_name_the_call_and_the_place) {
  expect_that_the_stats_name_the_place({.max_procs = 1});
}

// Without the signal no goroutine is stopped where it is, but the places of unannounced calls must be known
// nevertheless. In a process of its own, because an earlier run would have recorded the places.
TEST(unannounced_calls, T04_the_stats_name_the_place_also_without_the_signal) {
  expect_that_the_stats_name_the_place({.max_procs = 1, .async_preemption = false});
}

// Loaded while the run is alive.
TEST(unannounced_calls, T04_a_place_in_a_plugin_is_named_too) {
  if (!rt::os::loader_can_be_asked) GTEST_SKIP() << "before glibc 2.35 what is loaded later belongs to no object";
#if defined(__x86_64__)
  if (rt::with_asan) GTEST_SKIP() << "whose interceptors hide their callers here";
#endif
  if (test::emulated() || rt::with_tsan) GTEST_SKIP() << "whose own frames lie in between";
  run_at(1, [] {
    test::plugin const loaded;
    gate kernel;
    wait_group all;
    all.go([&] { EXPECT_EQ(loaded.reads_a_byte(kernel.reading_end()), 1); });
    EXPECT_TRUE(test::wait_until([] {
      sleep_for(1ms);
      auto const calls = read_stats().unannounced_calls;
      return std::any_of(calls.begin(), calls.end(), [](auto const& call) {
        Dl_info where{};
        return call.system_call == SYS_read && ::dladdr(call.caller, &where) != 0 && where.dli_sname != nullptr &&
               std::strcmp(where.dli_sname, "plugin_reads_a_byte") == 0;
      });
    }));
    kernel.open();
    all.wait();
  });
}

// A goroutine comes back from the kernel without a P and calls `work` in a loop. After a while its thread waits for a
// P.
template <class F>
void expect_that_it_gets_a_p(F work) {
  test::with_slices_of const slices(1ms);
  run_at(1, [&] {
    rt::Sched& s = test::this_sched();
    gate kernel;
    std::atomic<bool> stop{false};
    wait_group all;
    all.go([&] {
      kernel.wait();
      while (!stop) work();
    });
    EXPECT_TRUE(test::wait_until([&] { return s.unannounced.without_p() == 1; }));
    kernel.open();
    EXPECT_TRUE(test::wait_until([&] { return s.unannounced.without_p() == 0; }));
    stop = true;
    all.wait();
  });
}

// A signal hardly ever finds the thread outside of the C library, so it waits for a P inside of it.
TEST(unannounced_calls, S40_one_that_comes_back_into_the_c_library_does_not_stay_there_without_a_p) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  std::vector<char> block(5'000'000);
  expect_that_it_gets_a_p([&] {
    std::memset(block.data(), 1, block.size());
    asm volatile("" : : "r"(block.data()) : "memory");
  });
}

// Each of these ends early, with EINTR, when a signal comes, whatever SA_RESTART says.
TEST(unannounced_calls, T04_a_sleep_beside_preempted_loops_is_as_long_as_it_should_be) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  test::with_slices_of const slices(500us);
  run_at(2, [] {
    std::atomic<bool> stop{false};
    wait_group loops;
    for (int i = 0; i < 3; ++i) {
      loops.go([&] {
        while (!stop) rt::cpu_relax();
      });
    }
    std::function<bool()> const calls[] = {
        [] { return ::usleep(50'000) == 0; },
        [] {
          timespec const some{0, 50'000'000};
          return ::nanosleep(&some, nullptr) == 0;
        },
        [] { return ::poll(nullptr, 0, 50) == 0; },
        [] {
          timeval some{0, 50'000};
          return ::select(0, nullptr, nullptr, nullptr, &some) == 0;
        },
        [] {
          int const events = ::epoll_create1(0);
          epoll_event one{};
          bool const right = ::epoll_wait(events, &one, 1, 50) == 0;
          ::close(events);
          return right;
        },
        [] {
          int pair[2];
          if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return false;
          timeval const some{0, 50'000};
          ::setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &some, sizeof some);
          char byte = 0;
          bool const right = ::recv(pair[0], &byte, 1, 0) == -1 && errno == EAGAIN;
          ::close(pair[0]);
          ::close(pair[1]);
          return right;
        },
        [] {
          sem_t never;
          ::sem_init(&never, 0, 0);
          timespec until{};
          ::clock_gettime(CLOCK_REALTIME, &until);
          until.tv_nsec += 50'000'000;
          until.tv_sec += until.tv_nsec / 1'000'000'000;
          until.tv_nsec %= 1'000'000'000;
          bool const right = ::sem_timedwait(&never, &until) == -1 && errno == ETIMEDOUT;
          ::sem_destroy(&never);
          return right;
        },
    };
    wait_group all;
    for (auto const& call : calls) {
      all.go([&] {
        auto const since = clock::now();
        EXPECT_TRUE(call()) << std::strerror(errno);
        EXPECT_GE(clock::now() - since, 49ms);
      });
    }
    all.wait();
    stop = true;
    loops.wait();
  });
}

// A request to pause that the goroutine has not seen does not keep sysmon from taking its P.
TEST(unannounced_calls, T04_one_whose_slice_is_over_may_fall_asleep) {
  test::with_slices_of const slices(1ms);
  test::run_with({.max_procs = 1, .async_preemption = false}, [] {
    gate kernel;
    wait_group all;
    all.go([&] {
      test::compute_for(10ms);
      kernel.wait();
    });
    all.go([&] { kernel.open(); });
    all.wait();
  });
}

// Back in user code without a P, the goroutine runs on for a while. Then sysmon finds it, and it queues for a P.
TEST(unannounced_calls, S40_one_that_comes_back_without_a_p_gets_one_although_it_calls_nothing) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  expect_that_it_gets_a_p([] { rt::cpu_relax(); });
}

// The signal of a slice that is over may come to a thread that has just woken, while its P is being taken.
TEST(unannounced_calls, T04_a_pause_that_comes_while_the_p_is_taken_leaves_no_goroutine_behind) {
  if (rt::with_tsan)
    GTEST_SKIP() << "the Ms are found by a hint, which ThreadSanitizer takes for a race with their making";
  run_at(2, [] {
    rt::Sched& s = test::this_sched();
    std::atomic<bool> stop{false};
    std::atomic<int> pauses{0};
    std::thread asker([&] {
      while (!stop) {
        for (rt::P* const p : s.procs) {
          rt::M* const m = rt::hint_of(p->m);
          std::uint32_t seen = rt::m_attend::being_taken;
          if (m != nullptr && m->attention.compare_exchange(seen, seen | rt::m_attend::pause, rt::relaxed, rt::relaxed))
            ++pauses;
        }
      }
    });
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&] {
        for (int k = 0; k < 400 && pauses < 10; ++k) {
          ::usleep(k % 20 == 0 ? 25'000 : 1'000);  // sysmon looks often once it has taken a P
          thrum::yield();                          // gets one again, to be taken
        }
      });
    }
    all.wait();
    stop = true;
    blocking([&] { asker.join(); });
    EXPECT_GT(read_stats().unannounced + static_cast<unsigned>(pauses), 0U) << "no P was about to be taken";
    if (pauses == 0) std::puts("no pause came in time: the machine has other things to do");
  });
}

// How long it takes a new goroutine to start if its maker makes a call at once. The call lasts until then and 50 ms
// longer, but for a second at the most before the goroutine starts. The time begins before there is the goroutine,
// because it starts before the call if the maker's slice ends between the two.
std::chrono::nanoseconds start_beside_a_call(blocking_hint hint) {
  gate has_started;
  wait_group all;
  std::chrono::nanoseconds started{};
  all.go([&, since = clock::now()] {
    started = clock::now() - since;
    has_started.open();
  });
  auto const call = [&] {
    pollfd until{has_started.reading_end(), POLLIN, 0};
    ::poll(&until, 1, 1'000);
    ::usleep(50'000);
  };
  blocking(call, hint);
  all.wait();
  return started;
}

struct starts {
  test::spread of_goroutines;
  test::spread of_threads;

  // Where the machine takes long to wake plain threads, goroutines may take longer, too.
  [[nodiscard]] std::chrono::nanoseconds usual_limit() const {
    return std::min<std::chrono::nanoseconds>(1ms * test::slowness(), 20ms) + 10 * of_threads.median;
  }
  [[nodiscard]] std::chrono::nanoseconds longest_limit() const {
    return std::min<std::chrono::nanoseconds>(20ms + 10 * of_threads.longest, 500ms);
  }
};

// SS-01.
TEST(announced_calls, SS_01_a_runnable_goroutine_starts_while_another_sits_in_a_call) {
  for (auto const hint : {blocking_hint::may_be_short, blocking_hint::long_call}) {
    auto const measure = [hint] {
      std::vector<std::chrono::nanoseconds> goroutines;
      std::vector<std::chrono::nanoseconds> threads;
      run_at(1, [&] {
        for (int i = 0; i < 11; ++i) {
          goroutines.push_back(start_beside_a_call(hint));
          threads.push_back(blocking(test::lateness_of_two_threads));
        }
      });
      return starts{test::spread_of(goroutines), test::spread_of(threads)};
    };
    auto const seen = test::in_one_of(10, measure, [](starts const& s) {
      return s.of_goroutines.median <= s.usual_limit() && s.of_goroutines.longest <= s.longest_limit();
    });
    EXPECT_LE(seen.of_goroutines.median, seen.usual_limit()) << seen.of_goroutines << "; threads: " << seen.of_threads;
    EXPECT_LE(seen.of_goroutines.longest, seen.longest_limit())
        << seen.of_goroutines << ", long before the call was over; threads: " << seen.of_threads;
  }
}

}  // namespace
}  // namespace thrum
