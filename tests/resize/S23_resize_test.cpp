// S23, GM-*, TR-04: stopping the world, and changing the number of Ps while it runs.
#include "base/atomic.h"
#include "core/current.h"
#include "core/sched.h"
#include "sched/world.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::this_p;
using test::this_sched;

void stop_and_start() {
  rt::M& m = *rt::current_m();
  rt::enter_runtime(m);
  { rt::stopped_world const world(m); }
  rt::leave_runtime(m);
}

class resize : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(resize);

TEST_P(resize, GM01_setting_answers_the_old_value) {
  test::delays_only const quiet;
  run([] {
    EXPECT_EQ(max_procs(), procs());
    EXPECT_EQ(set_max_procs(0), procs());
    EXPECT_EQ(set_max_procs(-7), procs());
    EXPECT_EQ(set_max_procs(procs()), procs());
    EXPECT_EQ(read_stats().stopped_for.count, 0U) << "the same value does not stop the world";
    EXPECT_EQ(set_max_procs(procs() + 3), procs());
    EXPECT_EQ(max_procs(), procs() + 3);
    EXPECT_EQ(set_max_procs(1), procs() + 3);
    EXPECT_EQ(max_procs(), 1);
    EXPECT_THROW(set_max_procs(1'000'000), std::invalid_argument);
    EXPECT_EQ(max_procs(), 1);
  });
}

// When the world goes on, all Ps are idle for a moment, also those with work. No thread may take that for a deadlock.
TEST_P(resize, S23_T13_a_thread_without_a_p_stops_the_world_while_goroutines_come_and_go) {
  run([] {
    rt::Sched& s = this_sched();
    std::atomic<bool> ends{false};
    std::thread stopper([&] {
      for (int i = 0; i < test::scaled(500); ++i) rt::stopped_world const world(s, 1'000'000'000);
      ends = true;
    });
    chan<int> there;
    chan<int> back;
    thrum::go([=]() mutable {
      os_thread_lock const own;
      for (int const value : there) back.send(value);
    });
    while (!ends) {
      there.send(1);
      EXPECT_TRUE(back.recv());
      spawn([] { yield(); }).join();
    }
    there.close();
    stopper.join();
  });
}

TEST_P(resize, TR04_a_resize_is_one_pause_and_reading_none) {
  test::delays_only const quiet;
  run([] {
    static_cast<void>(read_stats());
    EXPECT_EQ(read_stats().stopping_took.count, 0U);
    set_max_procs(procs() + 1);
    auto const now = read_stats();
    EXPECT_EQ(now.stopping_took.count, 1U);
    EXPECT_EQ(now.stopped_for.count, 1U);
    EXPECT_GE(now.stopped_for.total, now.stopping_took.total);
    EXPECT_EQ(now.stopped_for.total, now.stopped_for.longest);
  });
}

// The number of Ps that goroutines which wait for each other use at once. A goroutine whose slice ends meanwhile leaves
// its P to another one, which counts as the same.
int ps_used_at_once(int width) {
  std::atomic<int> running{0};
  std::vector<std::atomic<int>> on(static_cast<std::size_t>(width));
  wait_group all;
  for (int i = 0; i < width; ++i) {
    all.go([&, i] {
      on[static_cast<std::size_t>(i)] = this_p().id;
      ++running;
      EXPECT_TRUE(test::spin_until([&] { return running == width; }));
    });
  }
  all.wait();
  std::set<int> ids;
  for (auto const& id : on) ids.insert(id);
  EXPECT_LT(*ids.rbegin(), width);
  return static_cast<int>(ids.size());
}

TEST_P(resize, S23_new_ps_are_used_and_removed_ones_are_not) {
  test::delays_only const quiet;
  run([] {
    for (int const width : {1, 7, 2, 12, 3}) {
      set_max_procs(width);
      EXPECT_TRUE(test::wait_until([&] { return ps_used_at_once(width) == width; }))
          << "as many at once as there are Ps";
    }
  });
}

TEST_P(resize, S23_nothing_is_lost_under_load) {
  run([] {
    std::atomic<bool> stop{false};
    std::atomic<std::int64_t> passed{0};
    chan<int> there(3);
    chan<int> back;
    wait_group all;
    for (int i = 0; i < 6; ++i) {
      all.go([&] {
        for (int v : there) back.send(v);
      });
    }
    all.go([&] {
      for (int v : back) passed += v;
    });
    std::atomic<std::int64_t> sent{0};
    wait_group senders;
    for (int i = 0; i < 6; ++i) {
      senders.go([&] {
        while (!stop) {
          there.send(1);
          ++sent;
          if (sent % 7 == 0) sleep_for(10us);
          if (sent % 11 == 0) blocking([] {});
        }
      });
    }
    auto const rounds = test::scaled(300, 20);
    for (std::int64_t i = 0; i < rounds; ++i) {
      set_max_procs(1 + static_cast<int>(i * 37 % 64));
      thrum::yield();
      if (i % 16 == 0) sleep_for(100us);
    }
    stop = true;
    senders.wait();
    there.close();
    while (passed < sent) thrum::yield();
    back.close();
    all.wait();
    EXPECT_EQ(passed.load(), sent.load());
    EXPECT_GE(read_stats().stopped_for.count, static_cast<std::uint64_t>(rounds) / 2);
  });
}

TEST_P(resize, S23_timers_of_removed_ps_still_go_off) {
  run([] {
    set_max_procs(16);
    constexpr int sleepers = 200;
    wait_group all;
    std::atomic<int> fired{0};
    std::vector<timer> timers;
    for (int i = 0; i < sleepers; ++i) all.go([i] { sleep_for(std::chrono::milliseconds(5 + i % 10)); });
    for (int i = 0; i < 20; ++i) timers.emplace_back(std::chrono::milliseconds(5 + i % 10));
    auto late = after_func(8ms, [&] { ++fired; });
    timer stopped(10ms);
    for (int i = 0; i < 50; ++i) thrum::yield();
    set_max_procs(1);
    EXPECT_TRUE(stopped.stop());
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(timers[static_cast<std::size_t>(i)].c().recv().has_value());
    all.wait();
    EXPECT_TRUE(test::wait_until([&] { return fired == 1; }));
    EXPECT_EQ(test::timers_pending(), 0U);
  });
}

TEST_P(resize, GM02_stops_beside_a_goroutine_that_starts_itself_anew) {
  run([] {
    std::atomic<bool> stop{false};
    wait_group ended;
    ended.add(1);
    struct again {
      std::atomic<bool>& stop;
      wait_group& ended;
      void operator()() const {
        if (stop) {
          ended.done();
        } else {
          go(*this);
        }
      }
    };
    go(again{stop, ended});
    for (std::int64_t i = 0; i < test::scaled(1000, 50); ++i) stop_and_start();
    for (std::int64_t i = 0; i < test::scaled(1000, 50); ++i) set_max_procs(i % 2 == 0 ? 3 : procs());
    stop = true;
    ended.wait();
  });
}

TEST_P(resize, S23_many_stop_the_world_at_once) {
  run([] {
    wait_group all;
    for (int i = 0; i < 8; ++i) {
      all.go([i] {
        for (std::int64_t k = 0; k < test::scaled(50, 5); ++k) {
          if (k % 3 == 0) {
            stop_and_start();
          } else if (k % 3 == 1) {
            set_max_procs(1 + (i + static_cast<int>(k)) % 9);
          } else {
            static_cast<void>(read_stats());
          }
        }
      });
    }
    all.wait();
  });
}

// When the world stops, the P of an M whose thread is being made is taken back. The M must not be forgotten, because
// otherwise every stop would order new threads.
TEST_P(resize, S23_S31_threads_on_their_way_when_the_world_stops_are_not_ordered_again) {
  run([] {
    std::atomic<bool> ends{false};
    wait_group all;
    for (int i = 0; i < 2 * procs(); ++i) {
      all.go([&] {
        while (!ends) yield();
      });
    }
    for (std::int64_t i = 0; i < test::scaled(procs() > 8 ? 20 : 200, 20); ++i) stop_and_start();
    int const threads = read_stats().threads;
    ends = true;
    all.wait();
    EXPECT_LE(threads, 4 * procs() + 24) << "not one or more for each stop";
  });
}

TEST_P(resize, S23_counts_survive_the_ps_they_were_counted_on) {
  test::with_own_procs const fixed;
  run([] {
    set_max_procs(8);
    wait_group all;
    for (int i = 0; i < 1000; ++i) all.go([] { thrum::yield(); });
    all.wait();
    set_max_procs(1);
    EXPECT_TRUE(test::wait_until([] { return num_goroutines() == 1; }));
    std::uint64_t created = 0;
    int in_use = 0;
    for (proc_stats const& p : read_stats().procs) {
      created += p.created;
      in_use += p.in_use ? 1 : 0;
    }
    EXPECT_EQ(created, 1001U);
    EXPECT_EQ(in_use, 1);
  });
}

// How long a call that changes the number of Ps takes on average, beside four goroutines that call `work` repeatedly.
// Each goroutine has begun a new call of `work` before each change, because one that the last change stopped and that
// has not started would be stopped already.
template <class F>
std::chrono::nanoseconds average_resize_beside(F work) {
  constexpr int resizes = 10;
  set_max_procs(5);
  std::atomic<bool> stop{false};
  std::vector<std::atomic<int>> turns(4);
  wait_group all;
  for (auto& mine : turns) {
    all.go([&] {
      while (!stop) {
        ++mine;
        work();
      }
    });
  }
  std::chrono::nanoseconds took{};
  for (int i = 0; i < resizes; ++i) {
    for (auto& each : turns) each = 0;
    EXPECT_TRUE(test::wait_until(
        [&] { return std::all_of(turns.begin(), turns.end(), [](auto const& each) { return each > 0; }); }));
    auto const since = std::chrono::steady_clock::now();
    set_max_procs(i % 2 == 0 ? 6 : 5);
    took += std::chrono::steady_clock::now() - since;
  }
  stop = true;
  all.wait();
  return took / resizes;
}

// Ten times the row's 20 ms. A signal waits for its thread to have a CPU: the best of some tries counts.
template <class F>
void expect_soon_stopped(int procs, F work) {
  test::with_slices_of const slices(10s);  // the slice is not what ends them
  std::chrono::nanoseconds average{};
  int tries = 0;
  do {
    run_at(procs, [&] { average = average_resize_beside(work); });
  } while (average >= 200ms && ++tries < 5);
  EXPECT_LT(average, 200ms);
}

TEST_P(resize, GM04_loops_without_calls_are_stopped_soon) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  expect_soon_stopped(procs(), [] { rt::cpu_relax(); });
}

// A goroutine is not paused inside the C library at the first request. A goroutine that is inside it at every request
// is stopped there.
TEST_P(resize, GM04_loops_within_the_c_library_are_stopped_soon) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  expect_soon_stopped(procs(), [] {
    void* volatile some = std::malloc(100);
    std::free(some);
  });
  std::string const long_one(1 << 24, 'a');  // some ten milliseconds
  expect_soon_stopped(procs(), [&] { EXPECT_EQ(std::strspn(long_one.c_str(), "ab"), long_one.size()); });
}

TEST_P(resize, S23_with_goroutines_asleep_in_the_kernel) {
  run([] {
    std::atomic<bool> stop{false};
    std::atomic<int> calls{0};
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&, i] {
        while (!stop) {
          ++calls;
          if (i % 2 == 0) {
            ::usleep(2000);
          } else {
            blocking([] { ::usleep(500); });
          }
        }
      });
    }
    for (int i = 0; i < 30; ++i) {
      set_max_procs(1 + i % 5);
      int const before = calls;
      EXPECT_TRUE(test::wait_until([&] { return calls > before; }));
    }
    stop = true;
    all.wait();
  });
}

TEST_P(resize, S23_with_locked_goroutines) {
  run([] {
    std::atomic<bool> stop{false};
    std::atomic<int> turns{0};
    wait_group all;
    for (int i = 0; i < 3; ++i) {
      all.go([&] {
        os_thread_lock const lock;
        while (!stop) {
          ++turns;
          thrum::yield();
          sleep_for(20us);
        }
      });
    }
    os_thread_lock const lock;
    for (int i = 0; i < 50; ++i) {
      set_max_procs(1 + i % 5);
      int const before = turns;
      EXPECT_TRUE(test::wait_until([&] { return turns > before; }));
    }
    stop = true;
    all.wait();
  });
}

TEST_P(resize, S23_the_end_of_the_run_beside_stops) {
  for (int round = 0; round < 10; ++round) {
    run([] {
      for (int i = 0; i < 4; ++i) {
        go([] {
          for (int k = 1;; ++k) set_max_procs(1 + k % 5);
        });
      }
      sleep_for(300us);
    });
  }
}

}  // namespace
}  // namespace thrum
