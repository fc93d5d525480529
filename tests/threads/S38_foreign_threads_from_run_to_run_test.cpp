// S38: foreign threads that call thrum's functions while a run ends, or in several runs.
#include "base/atomic.h"
#include "base/platform.h"
#include "core/sched.h"
#include "os/thread.h"
#include "support/goroutines.h"
#include "support/kept.h"
#include "support/wait_until.h"
#include "support/watchdog.h"
#include "threads/foreign_threads.h"
#include <thrum/thrum.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>

namespace thrum {
namespace {

using test::foreign_threads;
using test::this_sched;

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
  return this_sched().ms.all().find([](rt::M const& m) {
    rt::G const* const g = m.is_foreign ? rt::hint_of(m.current) : nullptr;
    return g != nullptr && g->status.load(rt::relaxed) == rt::g_status::waiting;
  });
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

}  // namespace
}  // namespace thrum
