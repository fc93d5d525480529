// S14, S15, S17: goroutines in the kernel. Their Ps go on with others, and they find their way back.
#include "support/gate.h"
#include "support/goroutines.h"
#include "support/kept.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/threads_at_work.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::gate;
using test::run_at;
using test::scaled;
using test::spin_until;

proc_stats sum_of(stats const& all) {
  proc_stats sum;
  for (proc_stats const& p : all.procs) {
    sum.syscalls += p.syscalls;
    sum.handed_off += p.handed_off;
    sum.returns_to_idle += p.returns_to_idle;
    sum.returns_queued += p.returns_queued;
  }
  return sum;
}

// At P=1: lets a call go and then keeps the only P, until the caller is `back` and has queued for it.
void keep_the_p_from(gate const& kernel, std::atomic<bool> const& back) {
  kernel.open();
  EXPECT_TRUE(spin_until([&] { return back.load(); }));
  EXPECT_TRUE(spin_until([] { return test::this_sched().global_size.load(rt::relaxed) == 1; }));
}

pid_t this_thread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

// SS-05: the first way back.
TEST(syscalls, S14_SS_05_short_calls_keep_their_p) {
  test::delays_only const quiet;
  run_at(1, [] {
    int const calls = static_cast<int>(scaled(100'000, 1'000));
    for (int i = 0; i < calls; ++i) {
      EXPECT_EQ(blocking([i] { return i; }), i);
    }
    auto const seen = sum_of(read_stats());
    EXPECT_EQ(seen.syscalls, static_cast<std::uint64_t>(calls));
    EXPECT_LE((seen.returns_to_idle + seen.returns_queued) * 100, seen.syscalls) << "99 of 100 keep it";
  });
}

// The second: its P was taken since others wanted it, and is idle now.
TEST(syscalls, S14_SS_05_a_call_whose_p_was_taken_finds_an_idle_one) {
  test::delays_only const quiet;
  run_at(1, [] {
    gate kernel;
    std::atomic<bool> others_ran{false};
    std::thread opener([&] {
      while (!others_ran) std::this_thread::yield();
      kernel.open();
    });
    auto& s = test::this_sched();
    go([&] {
      go([&] { others_ran = true; });  // runs when this goroutine has ended; then there is no work left
    });
    blocking([&] {
      kernel.wait();
      EXPECT_TRUE(spin_until([&] { return s.idle.count() == 1; }));
    });
    auto const seen = read_stats();
    opener.join();  // an unannounced call
    EXPECT_EQ(sum_of(seen).returns_to_idle, 1U);
    EXPECT_EQ(seen.retaken, 1U);
  });
}

// The third way: another M has the only P.
TEST(syscalls, S14_SS_05_a_call_that_finds_no_p_waits_for_its_turn) {
  test::delays_only const quiet;
  run_at(1, [] {
    gate kernel;
    std::atomic<bool> returns{false};
    wait_group other;
    other.go([&] { keep_the_p_from(kernel, returns); });
    blocking([&] {
      kernel.wait();
      returns = true;
    });
    other.wait();
    EXPECT_EQ(sum_of(read_stats()).returns_queued, 1U);
  });
}

// SS-04: a call declared long gives its P up at entry.
TEST(syscalls, S15_SS_04_a_long_call_hands_its_p_off_at_once) {
  run_at(1, [] {
    gate kernel;
    go([&] { kernel.open(); });
    blocking([&] { kernel.wait(); }, blocking_hint::long_call);
    auto const seen = read_stats();
    EXPECT_EQ(sum_of(seen).handed_off, 1U);
    EXPECT_EQ(seen.retaken, 0U) << "sysmon had nothing to do";
  });
}

void sit_in_the_kernel_for(std::chrono::nanoseconds long_) {
  timespec const pause{.tv_sec = 0, .tv_nsec = long_.count()};
  ::nanosleep(&pause, nullptr);
}

// SS-04: with no other work a P in a call is left alone, for 10 ms.
TEST(syscalls, S17_SS_04_without_other_work_a_p_is_left_where_it_is) {
  test::delays_only const quiet;
  run_at(2, [] {
    std::int64_t const calls = scaled(50, 10);
    std::uint64_t long_ones = 0;
    for (std::int64_t i = 0; i < calls; ++i) {
      auto const since = clock::now();
      blocking([] { sit_in_the_kernel_for(300us); });
      if (clock::now() - since >= 10ms) ++long_ones;  // the machine made it longer
    }
    EXPECT_LE(read_stats().retaken, long_ones);
  });
}

// And then it is taken, never earlier: they count from sysmon's first sight of the call.
TEST(syscalls, S17_SS_04_without_other_work_a_p_is_taken_after_ten_milliseconds) {
  test::delays_only const quiet;
  run_at(2, [] {
    rt::Sched& s = test::this_sched();
    ASSERT_TRUE(spin_until([&] { return s.idle.count() + s.idle.spinning() > 0; }));
    for (int i = 0; i < 5; ++i) {  // having taken one it looks often, and could be too early for the next
      auto const before = s.sysmon.retaken.load(rt::relaxed);
      auto const since = clock::now();
      auto taken = since;
      blocking([&] {
        EXPECT_TRUE(spin_until([&] {
          sit_in_the_kernel_for(500us);
          taken = clock::now();  // later than it was
          return s.sysmon.retaken.load(rt::relaxed) != before;
        }));
      });
      EXPECT_GE(taken - since, 10ms);
    }
  });
}

class blocked_ps : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(blocked_ps);

// With every P's goroutine in the kernel the others run on; only they can end the calls.
TEST_P(blocked_ps, S15_SS_02_the_others_run_on) {
  run([] {
    for (auto const hint : {blocking_hint::may_be_short, blocking_hint::long_call}) {
      gate kernel;
      int const callers = 2 * procs();
      std::atomic<int> inside{0};
      wait_group all;
      for (int i = 0; i < callers; ++i) {
        all.go([&] {
          blocking(
              [&] {
                ++inside;
                kernel.wait();
              },
              hint);
        });
      }
      while (inside < callers) thrum::yield();
      for (int i = 0; i < callers; ++i) kernel.open();
      all.wait();
    }
  });
}

struct calls_beside_a_yielder {
  std::chrono::nanoseconds took;
  std::int64_t turns;
};

calls_beside_a_yielder sit_in_64_calls_beside_a_yielder() {
  calls_beside_a_yielder seen{};
  run_at(2, [&] {
    std::atomic<int> in_calls{64};
    auto const since = clock::now();
    for (int k = 0; k < 64; ++k) {
      go([&] {
        blocking([] { sit_in_the_kernel_for(100ms); });
        --in_calls;
      });
    }
    for (; in_calls > 0; ++seen.turns) thrum::yield();
    seen.took = clock::now() - since;
  });
  return seen;
}

// SS-02, as a figure: one after the other the calls would take more than three seconds.
TEST(syscalls, S15_SS_02_calls_last_side_by_side_while_another_yields) {
  auto const together = std::min<std::chrono::nanoseconds>(1s * test::slowness(), 3s);
  std::int64_t const enough = 100'000 / test::slowness() / test::slowness();
  auto const seen = test::in_one_of(10, sit_in_64_calls_beside_a_yielder, [=](calls_beside_a_yielder const& s) {
    return s.took <= together && s.turns > enough;
  });
  EXPECT_GE(seen.took, 100ms);
  EXPECT_LE(seen.took, together);
  EXPECT_GT(seen.turns, enough);
}

// And waiting for others is no call: it needs no thread.
TEST(syscalls, S15_SS_02_parked_goroutines_add_no_thread) {
  run_at(2, [] {
    int const many = static_cast<int>(scaled(10'000, 500));
    semaphore none(0);
    wait_group all;
    for (int i = 0; i < many; ++i) {
      all.go([&] { none.acquire(); });
    }
    ASSERT_TRUE(test::wait_until([&] { return test::waiting_for(rt::wait_reason::semaphore) == many; }));
    EXPECT_TRUE(test::few_threads_work(2 + 4)) << test::threads_at_work() << ", however many they are";
    none.release(many);
    all.wait();
  });
}

TEST_P(blocked_ps, S14_scopes_nest_and_exceptions_pass) {
  run([] {
    gate kernel;
    auto const before = sum_of(read_stats()).syscalls;
    EXPECT_THROW(blocking([&] {
                   blocking_scope const inner;
                   blocking([] {}, blocking_hint::long_call);
                   throw std::runtime_error("out");
                 }),
                 std::runtime_error);
    EXPECT_EQ(sum_of(read_stats()).syscalls, before + 1) << "the outermost counts";
    go([&] { kernel.open(); });
    try {
      blocking([&] {
        kernel.wait();
        throw std::runtime_error("after a wait");
      });
    } catch (std::runtime_error const& e) {
      thrum::yield();
      EXPECT_STREQ(e.what(), "after a wait");
    }
    int value = 3;
    int& reference = blocking([&]() -> int& { return value; });
    EXPECT_EQ(&reference, &value);
    auto child = spawn([&] {
      blocking_scope const left_by_goexit;
      goexit();
    });
    EXPECT_THROW(child.join(), goroutine_exited);
  });
}

// What is called without a P may use the runtime, and stays on its thread for as long as it does not wait.
TEST_P(blocked_ps, S14_the_runtime_can_be_used_inside) {
  run([] {
    chan<int> const buffered(1);
    chan<int> const unbuffered;
    mutex guard;
    wait_group all;
    all.go([&] {
      for (int i = 0; i < 10; ++i) {
        unbuffered.send(i);
      }
    });
    blocking([&] {
      pid_t const thread = this_thread();
      EXPECT_TRUE(buffered.try_send(1));
      std::lock_guard const lock(guard);
      all.go([] {});
      EXPECT_EQ(buffered.try_recv().value, 1);
      EXPECT_EQ(this_thread(), thread) << "none of these may migrate";
    });
    blocking([&] {
      for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(unbuffered.recv(), i);
        thrum::yield();
      }
    });
    all.wait();
  });
}

// Having waited in the runtime, or run a child in place, it is still in the call: its P is not its own.
TEST_P(blocked_ps, S14_what_comes_after_a_wait_inside_is_announced_as_well) {
  run([] {
    gate kernel;
    chan<int> const c;
    wait_group other;
    other.go([&] {
      c.send(1);
      for (int i = 0; i < 3 * procs(); ++i) kernel.open();
    });
    wait_group all;
    for (int i = 0; i < procs(); ++i) {  // if all Ps were in the kernel, no goroutine could open the gate
      all.go([&] {
        blocking([&] {
          spawn([] {}).join();
          kernel.wait();
        });
      });
      all.go([&] {
        blocking([&] {
          thrum::yield();
          kernel.wait();
        });
      });
      all.go([&] {
        blocking([&] {
          spawn([] { thrum::yield(); }).join();
          kernel.wait();
        });
      });
    }
    for (int i = 0; i < 10; ++i) thrum::yield();
    blocking([&] { EXPECT_EQ(c.recv(), 1); });
    all.wait();
    other.wait();
  });
}

TEST(syscalls, T02_nothing_goes_on_after_the_end_between_calls) {
  auto& rounds = test::kept<std::atomic<std::int64_t>>(0);
  run_at(2, [&] {
    go([&] {
      for (;;) {
        blocking([] {});
        ++rounds;
      }
    });
    while (rounds < 1000) thrum::yield();
  });
  std::int64_t const before = rounds;
  timespec const pause{.tv_sec = 0, .tv_nsec = 50'000'000};
  ::nanosleep(&pause, nullptr);
  EXPECT_EQ(rounds, before);
}

TEST(syscalls, T02_one_that_waits_for_its_turn_on_its_thread_ends_with_the_run) {
  test::in_run_order const undisturbed;
  auto& c = test::kept<chan<int>>(1);
  auto& has_p = test::kept<std::atomic<bool>>(false);
  run_at(1, [&] {
    gate kernel;
    go([&] {
      blocking(
          [&] {
            kernel.open();
            EXPECT_TRUE(spin_until([&] { return has_p.load(); }));
            EXPECT_TRUE(c.try_send(1));
            ADD_FAILURE() << "its turn never comes";
          },
          blocking_hint::long_call);
    });
    blocking([&] { kernel.wait(); });
    has_p = true;  // and keeps it until the end
    EXPECT_TRUE(spin_until([&] { return test::this_sched().global_size.load(rt::relaxed) == 1; }));
  });
  EXPECT_EQ(c.size(), 0U);
}

TEST(syscalls, S14_the_runtime_is_used_inside_while_another_has_the_only_p) {
  run_at(1, [] {
    gate kernel;
    chan<int> const c(1);
    std::atomic<bool> returns{false};
    wait_group other;
    other.go([&] { keep_the_p_from(kernel, returns); });
    blocking([&] {
      pid_t const thread = this_thread();
      kernel.wait();
      returns = true;
      EXPECT_TRUE(c.try_send(1));
      EXPECT_EQ(this_thread(), thread);
    });
    EXPECT_EQ(c.recv(), 1);
    other.wait();
  });
}

// Each visit to the runtime takes the P back for a moment, and looks like another short call.
TEST_P(blocked_ps, S15_one_that_uses_the_runtime_again_and_again_inside_does_not_keep_its_p) {
  test::with_slices_of const slices(10ms);
  run([&] {
    std::atomic<int> others_had_turns{0};
    wait_group all;
    for (int i = 0; i < 2 * procs(); ++i) {
      all.go([&] {
        blocking([&] {
          while (others_had_turns < 10) {
            static_cast<void>(read_stats());
            rt::os::yield_thread();
          }
        });
      });
    }
    all.go([&] {
      for (; others_had_turns < 10; ++others_had_turns) thrum::yield();
    });
    all.wait();
  });
}

TEST_P(blocked_ps, S41_every_p_can_be_reached_while_its_goroutine_is_in_the_kernel) {
  test::with_own_procs const fixed;
  run([] {
    gate kernel;
    int const callers = procs();
    std::atomic<int> inside{0};
    wait_group all;
    for (int i = 0; i < callers; ++i) {
      all.go([&] {
        blocking([&] {
          ++inside;
          kernel.wait();
        });
      });
    }
    while (inside < callers) thrum::yield();
    EXPECT_EQ(read_stats().procs.size(), static_cast<std::size_t>(procs()));  // stops at every P
    for (int i = 0; i < callers; ++i) kernel.open();
    all.wait();
  });
}

// DL-05: neither a long call nor the moment when sysmon holds the P of the call looks like a deadlock. The test runs in
// a child process, because no watchdog hides the report there. The long form of the test has the figures of the row.
TEST_P(blocked_ps, DL_05_a_call_is_no_deadlock) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto const child = [] {
    std::uint64_t without_their_p = 0;
    thrum::run(
        [&] {
          for (std::int64_t i = 0; i < (test::is_long() ? 100 : scaled(20, 5)); ++i) {
            blocking([] { sit_in_the_kernel_for(test::is_long() ? 300ms : 30ms); });
          }
          auto const seen = sum_of(read_stats());
          without_their_p = seen.returns_to_idle + seen.returns_queued;
        },
        {.max_procs = procs()});
    std::exit(without_their_p > 0 ? 0 : 1);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

TEST_P(blocked_ps, T02_the_run_ends_beside_one_that_stays_in_the_kernel) {
  gate& never = test::kept<gate>();  // the goroutines that are left behind keep what they use
  gate& later = test::kept<gate>();
  auto& inside = test::kept<std::atomic<int>>(0);
  run([&] {
    go([&] {
      blocking([&] {
        ++inside;
        never.wait();
      });
    });
    go([&] {
      blocking([&] {
        ++inside;
        later.wait();  // comes back when the run is over
      });
      ADD_FAILURE() << "a goroutine went on after its run";
    });
    while (inside < 2) thrum::yield();
  });
  later.open();
  run([] { thrum::yield(); });
}

TEST(syscalls_elsewhere, outside_a_goroutine_it_just_calls) {
  EXPECT_EQ(blocking([] { return 7; }), 7);
  blocking_scope const nothing(blocking_hint::long_call);
}

}  // namespace
}  // namespace thrum
