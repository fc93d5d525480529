// S38, SS-10: foreign threads create goroutines, send, receive and wait. Also tests the embedded runtime.
#include "core/current.h"
#include "core/sched.h"
#include "os/thread.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/kept.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include "support/watchdog.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::this_sched;

// Runs f on a plain thread, and waits as a goroutine until it has ended.
template <class F>
void on_a_thread(F f) {
  std::atomic<bool> ended{false};
  std::thread plain([&] {
    f();
    ended = true;
  });
  ASSERT_TRUE(test::wait_until([&] { return ended.load(); }));
  plain.join();
}

class foreign_threads : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(foreign_threads);

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
    for (rt::M const* m = this_sched().ms.newest(); m != nullptr; m = m->all_link) made += m->is_foreign ? 1 : 0;
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

TEST_P(foreign_threads, S38_a_thread_goes_from_run_to_run) {
  test::start_watchdog();
  std::mutex guard;
  std::condition_variable changed;
  int wanted = 0;
  int done = 0;
  bool ends = false;
  chan<int>* to = nullptr;
  std::thread worker([&] {
    for (std::unique_lock lock(guard);;) {
      changed.wait(lock, [&] { return ends || wanted > done; });
      if (ends) return;
      lock.unlock();
      to->send(done);
      lock.lock();
      ++done;
      changed.notify_all();
    }
  });
  for (int round = 0; round < 10; ++round) {
    run([&] {
      chan<int> c;
      {
        std::lock_guard const lock(guard);
        to = &c;
        ++wanted;
        changed.notify_all();
      }
      EXPECT_EQ(c.recv(), round);
    });
    std::unique_lock lock(guard);
    changed.wait(lock, [&] { return done == wanted; });
  }
  std::thread late([] { EXPECT_THROW(go([] {}), std::logic_error) << "no runtime is alive"; });
  late.join();
  {
    std::lock_guard const lock(guard);
    ends = true;
    changed.notify_all();
  }
  worker.join();
}

rt::M* thread_from_outside_that_waits() {
  test::lock_of_sched const guard(this_sched().lock);
  for (rt::M* m = this_sched().ms.newest(); m != nullptr; m = m->all_link) {
    rt::G const* const g = m->is_foreign ? rt::hint_of(m->current) : nullptr;
    if (g != nullptr && g->status.load(rt::relaxed) == rt::g_status::waiting) return m;
  }
  return nullptr;
}

// Its M is in the process for good: it can be asked at any time.
TEST_P(foreign_threads, S38_one_that_is_asked_to_pause_while_the_run_ends_comes_out_all_the_same) {
  if (rt::with_tsan) GTEST_SKIP() << "the asking thread does not look whether the M is being seated anew";
  test::start_watchdog();
  std::atomic<rt::M*> asked{nullptr};
  std::atomic<bool> over{false};
  std::thread asks([&] {  // as sysmon does, when a slice is over or the world is to stop, but all the time
    while (!over) {
      if (rt::M* const m = asked) m->attention.fetch_or(rt::m_attend::pause, rt::relaxed);
    }
  });
  std::atomic<chan<int>*> to{nullptr};
  std::thread sends([&] {
    while (!over) {
      chan<int>* const next = to.exchange(nullptr);
      if (next == nullptr) {
        rt::os::yield_thread();
        continue;
      }
      chan<int> const c = *next;
      c.send(1);
    }
  });
  for (int round = 0; round < 100; ++round) {
    run([&] {
      chan<int> c;
      to = &c;
      EXPECT_TRUE(test::wait_until([&] { return (asked = thread_from_outside_that_waits()) != nullptr; }));
      EXPECT_EQ(c.recv(), 1);  // the run is over before the sender has woken up
    });
  }
  over = true;
  sends.join();
  asks.join();
}

TEST_P(foreign_threads, S38_one_that_waits_when_the_run_ends_stays_where_it_is) {
  static chan<int>* without_sender;
  chan<int> c;
  without_sender = &c;
  run([] {
    std::atomic<bool> entered{false};
    std::thread waits([&entered] {
      entered = true;
      static_cast<void>(without_sender->recv());
      ADD_FAILURE() << "no value was sent";
    });
    waits.detach();
    ASSERT_TRUE(test::wait_until([&] { return entered && num_goroutines() == 2; }));
  });
  run([] { spawn([] {}).join(); });
  static_cast<void>(test::kept<chan<int>>(std::move(c)));  // it waits there for good
}

TEST_P(foreign_threads, S38_threads_that_call_while_the_run_ends) {
  for (int round = 0; round < 5; ++round) {
    auto& stop = test::kept<std::atomic<bool>>(false);  // a thread that is late uses them for good
    auto& begun = test::kept<std::atomic<int>>(0);
    std::vector<std::thread> threads;
    auto const loop = [&stop, &begun] {
      try {
        while (!stop) {
          go([] {});
          ++begun;
        }
      } catch (std::logic_error const&) {
      }
    };
    run([&] {
      for (int i = 0; i < 3; ++i) threads.emplace_back(loop);
      ASSERT_TRUE(test::wait_until([&] { return begun > 100; }));
    });
    stop = true;
    for (auto& t : threads) {
      // One that was about to enter sleeps for good: that is its end too.
      timespec until{};
      ::clock_gettime(CLOCK_REALTIME, &until);
      until.tv_nsec += 20'000'000;
      until.tv_sec += until.tv_nsec / 1'000'000'000;
      until.tv_nsec %= 1'000'000'000;
      if (::pthread_timedjoin_np(t.native_handle(), nullptr, &until) == 0) {
        static_cast<void>(test::kept<std::thread>(std::move(t)));  // joined already
      } else {
        t.detach();
      }
    }
    if (testing::Test::HasFailure()) break;
  }
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

struct slow_to_move {
  std::atomic<bool>* moving;
  std::atomic<bool>* goes_on;
  slow_to_move(std::atomic<bool>& m, std::atomic<bool>& g) : moving(&m), goes_on(&g) {}
  slow_to_move(slow_to_move const& from) : moving(from.moving), goes_on(from.goes_on) {
    *moving = true;
    while (!*goes_on) std::this_thread::yield();
  }
  void operator()() const {}
};

TEST_P(foreign_threads, S38_the_run_ends_while_a_thread_makes_a_goroutine) {
  static std::atomic<bool> moving;
  static std::atomic<bool> goes_on;
  moving = false;
  goes_on = false;
  std::thread maker;
  run([&] {
    maker = std::thread([] {
      slow_to_move const callable(moving, goes_on);
      go(callable);
    });
    ASSERT_TRUE(test::wait_until([] { return moving.load(); }));
  });
  goes_on = true;
  maker.join();
}

class embedded : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(embedded);

TEST_P(embedded, S38_goroutines_run_while_the_owner_goes_on) {
  test::with_own_procs const fixed;
  runtime const alive({.max_procs = procs()});
  chan<int> results;
  for (int i = 0; i < 50; ++i) go([&, i] { results.send(i); });
  int sum = 0;
  for (int i = 0; i < 50; ++i) sum += results.recv().value();
  EXPECT_EQ(sum, 1225);
  EXPECT_EQ(spawn([] { return 6 * 7; }).join(), 42);
  EXPECT_EQ(max_procs(), procs());
}

TEST_P(embedded, S38_several_threads_use_it) {
  runtime const alive({.max_procs = procs()});
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      wait_group all;
      for (int i = 0; i < 50; ++i) {
        all.go([&] {
          sleep_for(10us);
          ++sum;
        });
      }
      all.wait();
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(sum, 200);
}

TEST_P(embedded, S38_one_after_the_other_and_beside_nothing) {
  for (int round = 0; round < 10; ++round) {
    runtime const alive({.max_procs = procs()});
    EXPECT_THROW(runtime{}, std::logic_error);
    EXPECT_THROW(static_cast<void>(thrum::run([] {})), std::logic_error);
    spawn([] {}).join();
    EXPECT_THROW(static_cast<void>(thrum::run([] {})), std::logic_error) << "seated";
    go([] {
      for (;;) sleep_for(1ms);
    });
  }
  EXPECT_EQ(run([] { spawn([] {}).join(); }), 0);
  EXPECT_THROW(go([] {}), std::logic_error);
}

class embedded_fatal : public test::child_test {};

// All goroutines wait, and so does the owner of the runtime, in a call of thrum in which it counts as a goroutine. This
// is not a deadlock, because a signal handler for example may wake them. The alarm ends the child.
TEST_F(embedded_fatal, S20_S38_no_deadlock_is_reported) {
  for (int const procs : {1, 2}) {
    auto const child = [procs] {
      runtime const alive({.max_procs = procs});
      chan<int> never;
      chan<int> waits;
      go([&] {
        waits.send(1);
        static_cast<void>(never.recv());
      });
      static_cast<void>(waits.recv());
      ::alarm(1);
      static_cast<void>(never.recv());
    };
    EXPECT_EXIT(child(), testing::KilledBySignal(SIGALRM), "^$");
  }
}

}  // namespace
}  // namespace thrum
