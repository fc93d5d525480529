// Closing a channel on which a crowd waits. Other goroutines get the channel's lock in between, selects leave
// meanwhile, and a thread that closes the channel while a run begins wakes the goroutines of that run.
#include "chan/channel.h"
#include "sched/timers.h"
#include "support/rounds.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::scaled;
using test::wait_until;

bool all_wait(chan<int> const& c, std::int64_t count) {
  return wait_until([&] {
    detail::channel* const core = c.channel_handle::core();
    rt::runtime_mark const mark;
    core->lock.acquire();
    std::int64_t waiting = 0;
    for (auto const* each = core->receivers.first(); each != nullptr && waiting < count; each = each->next) ++waiting;
    core->lock.release();
    return waiting == count;
  });
}

// Closes a channel with many receivers. Returns true if a goroutine on the other P held the channel's lock when the
// channel was closed and the last waiter was in the queue. The last waiter belongs to no running goroutine, so no waker
// wins it.
bool others_have_the_lock_meanwhile() {
  std::int64_t const count = scaled(20'000, 1'000);
  chan<int> c;
  detail::channel& core = *c.channel_handle::core();
  wait_group all;
  for (std::int64_t i = 0; i < count; ++i) {
    all.go([&] { EXPECT_EQ(c.recv(), std::nullopt); });
  }
  EXPECT_TRUE(all_wait(c, count));
  rt::G waiter_of_no_channel;
  detail::channel_waiter last;
  last.g = &waiter_of_no_channel;
  last.is_select = true;
  {
    rt::runtime_mark const mark;
    core.lock.acquire();
    core.receivers.push_back(last);
    core.lock.release();
  }
  std::atomic<bool> looks = false;
  std::atomic<bool> is_over = false;
  bool seen = false;
  all.go([&] {
    looks = true;
    while (!is_over) {
      rt::runtime_mark const mark;
      core.lock.acquire();
      seen = seen || (core.closed.load(rt::relaxed) && last.is_queued);
      core.lock.release();
    }
  });
  EXPECT_TRUE(wait_until([&] { return looks.load(); }));
  c.close();
  EXPECT_FALSE(last.is_queued);
  is_over = true;
  all.wait();
  return seen;
}

// On a busy machine the goroutine that looks may have no CPU meanwhile.
TEST(close_of_a_channel, lets_others_have_the_lock_while_it_wakes_many_waiters) {
  run_at(2, [] { EXPECT_TRUE(test::shows_in_some_try(others_have_the_lock_meanwhile)); });
}

// Selects are woken by another channel, or by their time limit, while the close goes through them.
TEST(close_of_a_channel, selects_leave_while_it_wakes_many_waiters) {
  run_at(2, [] {
    for (std::int64_t round = 0; round < scaled(40, 4); ++round) {
      constexpr int count = 300;
      chan<int> c;
      chan<int> other(count);
      wait_group all;
      std::atomic<int> closed = 0;
      std::atomic<int> received = 0;
      std::atomic<int> late = 0;
      auto const when = clock::now() + 3ms;
      for (int i = 0; i < count; ++i) {
        all.go([&, i] {
          if (i % 3 == 0) {
            EXPECT_EQ(c.recv(), std::nullopt);
            ++closed;
            return;
          }
          auto const limit = i % 3 == 1 ? when - clock::now() : 1h;
          select(on_recv(c, [&](std::optional<int>) { ++closed; }),
                 on_recv(other, [&](std::optional<int>) { ++received; }), on_timeout(limit, [&] { ++late; }));
        });
      }
      all.go([&] {
        while (clock::now() < when) thrum::yield();
        for (int i = 0; i < count / 4; ++i) static_cast<void>(other.try_send(i));
      });
      while (clock::now() < when) thrum::yield();
      c.close();
      all.wait();
      EXPECT_EQ(closed + received + late, count);
    }
  });
}

// All handles except the closer's own are dropped by goroutines that this close wakes, or that leave during the close.
TEST(close_of_a_channel, may_be_the_last_use_of_a_channel_with_many_waiters) {
  run_at(2, [] {
    for (std::int64_t round = 0; round < scaled(100, 10); ++round) {
      constexpr int count = 100;
      auto* const c = new chan<int>();
      std::atomic<int> left = count;
      wait_group all;
      for (int i = 0; i < count; ++i) {
        all.go([&, i] {
          if (i % 2 == 0) {
            EXPECT_EQ(c->recv(), std::nullopt);
          } else {
            select(on_recv(*c, [](std::optional<int>) {}), on_timeout(1h, [] {}));
          }
          if (--left == 0) delete c;
        });
      }
      EXPECT_TRUE(all_wait(*c, count));
      c->close();
      all.wait();
    }
  });
}

std::int64_t cpu_ns_of(std::thread& thread) {
  clockid_t its_clock{};
  timespec used{};
  EXPECT_EQ(::pthread_getcpuclockid(thread.native_handle(), &its_clock), 0);
  EXPECT_EQ(::clock_gettime(its_clock, &used), 0);
  return used.tv_sec * std::int64_t{1'000'000'000} + used.tv_nsec;
}

// A thread that has found no run alive takes the channel's lock when a run has begun, and a goroutine of that run takes
// the lock at the same time. Whichever is first, the goroutine continues.
TEST(close_of_a_channel, by_a_thread_that_saw_no_run_wakes_the_goroutines_of_one_that_begins) {
  for (test::rounds all_rounds(30); all_rounds.next();) {
    chan<int> c;
    detail::channel& core = *c.channel_handle::core();
    core.lock.acquire(rt::os::ranked::no);
    std::thread closer([&] { detail::close_if_open(&core); });
    ASSERT_TRUE(wait_until([&] { return cpu_ns_of(closer) > 2'000'000; })) << "it spins for the lock";
    run_at(2, [&] {
      std::atomic<bool> begins = false;
      wait_group all;
      all.go([&] {
        begins = true;
        EXPECT_EQ(c.recv(), std::nullopt);
      });
      auto const end = clock::now() + 10s;
      while (!begins && clock::now() < end) rt::os::yield_thread();
      for (auto const soon = clock::now() + 50us * (all_rounds.begun() % 4); clock::now() < soon;) {
      }
      core.lock.release(rt::os::ranked::no);
      all.wait();
    });
    closer.join();
  }
}

}  // namespace
}  // namespace thrum
