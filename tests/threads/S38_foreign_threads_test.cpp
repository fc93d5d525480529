// S38, SS-10: foreign threads create goroutines, send, receive and wait.
#include "core/current.h"
#include "core/sched.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "threads/foreign_threads.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::foreign_threads;
using test::on_a_thread;
using test::this_sched;

THRUM_AT_EVERY_WIDTH(foreign_threads);  // also for the tests of this suite in other files

TEST_P(foreign_threads, SS10_eight_threads_send) {
  run([] {
    std::int64_t const each = test::scaled(10'000, 300);
    chan<std::int64_t> values(4);
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (std::int64_t i = 1; i <= each; ++i) values.send(i);
      });
    }
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < 8 * each; ++i) sum += values.recv().value();
    EXPECT_EQ(sum, 8 * each * (each + 1) / 2);
    for (auto& t : threads) t.join();
    EXPECT_EQ(num_goroutines(), 1) << "they count only while they are inside";
  });
}

TEST_P(foreign_threads, S38_threads_receive_from_each_other_and_from_goroutines) {
  run([] {
    chan<int> there;
    chan<int> back;
    std::thread echo([&] {
      for (int v : there) back.send(v + 1);
      back.close();
    });
    for (int i = 0; i < 200; ++i) {
      there.send(i);
      ASSERT_EQ(back.recv(), i + 1);
    }
    there.close();
    EXPECT_EQ(back.recv(), std::nullopt);
    echo.join();
  });
}

TEST_P(foreign_threads, S38_a_thread_starts_goroutines_and_joins_them) {
  run([] {
    on_a_thread([] {
      std::vector<join_handle<int>> made;
      for (int i = 0; i < 100; ++i) {
        made.push_back(spawn([i] {
          thrum::yield();
          return i;
        }));
      }
      int sum = 0;
      for (auto& one : made) sum += one.join();
      EXPECT_EQ(sum, 4950);
      latch may_end(1);
      auto slow = spawn([&] { may_end.wait(); });
      EXPECT_FALSE(slow.join_for(1ms));
      may_end.count_down();
      slow.join();
      static_cast<void>(spawn([] {}));  // dropped: detached
      wait_group all;
      for (int i = 0; i < 10; ++i) all.go([] { sleep_for(100us); });
      all.wait();
    });
  });
}

TEST_P(foreign_threads, S38_mutexes_and_their_kin_are_shared) {
  run([] {
    mutex guard;
    shared_mutex shared;
    thrum::condition_variable changed;
    thrum::semaphore places(2);
    thrum::latch ready(4);
    int counter = 0;
    auto const work = [&] {
      ready.arrive_and_wait();
      for (std::int64_t i = 0; i < test::scaled(500, 50); ++i) {
        {
          std::lock_guard const lock(guard);
          ++counter;
        }
        places.acquire();
        places.release();
        if (i % 5 == 0) {
          std::unique_lock const writes(shared);
        } else {
          std::shared_lock const reads(shared);
        }
      }
      std::unique_lock lock(guard);
      ++counter;
      changed.notify_all();
    };
    std::thread one(work);
    std::thread two(work);
    wait_group all;
    all.go(work);
    all.go(work);
    auto const expected = static_cast<int>(4 * (test::scaled(500, 50) + 1));
    {
      std::unique_lock lock(guard);
      changed.wait(lock, [&] { return counter == expected; });
    }
    all.wait();
    one.join();
    two.join();
  });
}

TEST_P(foreign_threads, S38_select_timers_and_contexts) {
  run([] {
    on_a_thread([] {
      chan<int> never;
      bool late = false;
      EXPECT_EQ(select(on_recv(never, [](std::optional<int>) {}), on_timeout(2ms, [&] { late = true; })), 1U);
      EXPECT_TRUE(late);
      timer soon(1ms);
      EXPECT_TRUE(soon.c().recv().has_value());
      EXPECT_TRUE(after(1ms).recv().has_value());
      chan<int> called(1);
      auto call = after_func(1ms, [&] { called.send(7); });
      EXPECT_EQ(called.recv(), 7);
      auto const limited = with_timeout(context::background(), 1ms);
      EXPECT_FALSE(limited.ctx.done().recv().has_value());
      sleep_for(1ms);
      once first;
      int calls = 0;
      first.call([&] { ++calls; });
      EXPECT_EQ(calls, 1);
    });
  });
}

TEST_P(foreign_threads, S38_a_thread_cancels_what_goroutines_wait_for) {
  run([] {
    auto cancelled = with_cancel(context::background());
    std::thread other([&] { cancelled.cancel(); });
    EXPECT_FALSE(cancelled.ctx.done().recv().has_value());
    other.join();

    std::stop_source stop;
    auto const from_token = context(stop.get_token());
    std::thread stopper([&] { stop.request_stop(); });
    EXPECT_FALSE(from_token.done().recv().has_value());
    stopper.join();
  });
}

TEST_P(foreign_threads, S38_what_is_for_goroutines_says_so) {
  test::with_own_procs const fixed;
  run([] {
    on_a_thread([] {
      EXPECT_THROW(thrum::yield(), std::logic_error);
      go([] {});  // seated from now on
      EXPECT_THROW(thrum::yield(), std::logic_error);
      EXPECT_THROW(static_cast<void>(this_goroutine::id()), std::logic_error);
      EXPECT_THROW(goexit(), std::logic_error);
      EXPECT_EQ(max_procs(), procs());
      EXPECT_GE(num_goroutines(), 1);
      EXPECT_EQ(read_stats().procs.size(), static_cast<std::size_t>(procs()));
      lock_os_thread();
      unlock_os_thread();
      unlock_os_thread();
      chan<int> c(1);
      c.send(1);
      EXPECT_EQ(c.recv(), 1);
      EXPECT_EQ(blocking([] { return 5; }), 5);
    });
  });
}

TEST_P(foreign_threads, SS10_seats_are_used_again) {
  run([] {
    for (int round = 0; round < 20; ++round) {
      on_a_thread([] { go([] {}); });
    }
    int made = 0;
    test::lock_of_sched const guard(this_sched().lock);
    for (rt::M const& m : this_sched().ms.all()) made += m.is_foreign ? 1 : 0;
    EXPECT_EQ(made, 1);
  });
}

// Such a thread is always locked, so its calls of lock_os_thread are only counted.
TEST_P(foreign_threads, S38_a_seat_does_not_keep_the_locks_of_the_thread_that_had_it_before) {
  run([] {
    rt::M* first = nullptr;
    on_a_thread([&] {
      lock_os_thread();
      lock_os_thread();
      first = rt::current_m();
      EXPECT_EQ(first->current->lock_depth, 2);
    });
    on_a_thread([&] {
      go([] {});
      ASSERT_EQ(rt::current_m(), first) << "the seat was not used again";
      rt::G const& g = *first->current;
      EXPECT_EQ(g.lock_depth, 0);
      lock_os_thread();
      EXPECT_EQ(g.lock_depth, 1);
      for (int i = 0; i < 2; ++i) unlock_os_thread();  // one too many does nothing
      EXPECT_EQ(g.lock_depth, 0);
      EXPECT_TRUE(g.detour.is_locked);
    });
  });
}

struct says_goodbye {
  chan<int>* to = nullptr;
  ~says_goodbye() {
    if (to != nullptr) to->send(3);
  }
};

TEST_P(foreign_threads, S38_destructors_of_thread_locals_may_still_call) {
  run([] {
    chan<int> last;
    std::thread other([&] {
      static thread_local says_goodbye object;
      object.to = &last;
      go([] {});
    });
    EXPECT_EQ(last.recv(), 3);
    other.join();
  });
}

TEST_P(foreign_threads, SS10_signals_at_its_first_calls) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
  run([] {
    for (std::int64_t round = 0; round < test::scaled(100, 5); ++round) {
      std::atomic<bool> ended{false};
      chan<int> c(1);
      std::thread other([&] {
        for (int i = 0; i < 10; ++i) {
          c.send(i);
          static_cast<void>(c.recv());
        }
        ended = true;
      });
      while (!ended) {
        ::pthread_kill(other.native_handle(), SIGUSR1);
        thrum::yield();
      }
      other.join();
    }
  });
}

TEST_P(foreign_threads, S23_a_thread_stops_the_world) {
  run([] {
    std::atomic<bool> stop{false};
    wait_group all;
    all.go([&] {
      while (!stop) thrum::yield();
    });
    on_a_thread([] {
      for (int i = 0; i < 20; ++i) set_max_procs(1 + i % 4);
    });
    stop = true;
    all.wait();
  });
}

class foreign_threads_fatal : public test::child_test {};

TEST_F(foreign_threads_fatal, T13_S20_a_deadlock_is_seen_when_the_last_thread_that_could_help_has_ended) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_FATAL(thrum::run(
                   [] {
                     chan<int> c;
                     std::thread([&c] { c.send(1); }).detach();
                     static_cast<void>(c.recv());
                     static_cast<void>(c.recv());
                   },
                   {.max_procs = 2}),
               "all goroutines are asleep - deadlock!");
}

TEST_F(foreign_threads_fatal, T13_S20_a_thread_that_waits_inside_cannot_help) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_FATAL(thrum::run(
                   [] {
                     chan<int> c;
                     std::thread([&c] { static_cast<void>(c.recv()); }).detach();
                     static_cast<void>(c.recv());
                   },
                   {.max_procs = 2}),
               "all goroutines are asleep - deadlock!(.*\n)*.*a thread from outside");
}

TEST_P(foreign_threads, S38_a_blocking_call_is_the_first_thing_it_does) {
  run([] {
    chan<int> c;
    std::thread outside([&] { blocking([&] { c.send(1); }); });
    EXPECT_EQ(c.recv(), 1);
    outside.join();
    EXPECT_EQ(spawn([] { return 2; }).join(), 2);
  });
}

}  // namespace
}  // namespace thrum
