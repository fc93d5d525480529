// A goroutine that its run has left behind in user code comes to an object that a later run uses (T12). It wakes
// goroutines of that run as a foreign thread does, and it never waits there.
#include "core/current.h"
#include "core/sched.h"
#include "support/dismissed_thread.h"
#include "support/goroutines.h"
#include "support/kept.h"
#include "support/run_at.h"
#include "support/straggler.h"
#include "support/wait_until.h"
#include "sync/wait.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::kept;
using test::run_at;
using test::wait_until;

class left_behind : public test::with_straggler {
 protected:
  // A goroutine of a later run waits by `wait`. The straggler has done `before`, and then wakes it by `release`.
  template <class Before, class Wait, class Release>
  void wakes(rt::wait_reason reason, Before before, Wait wait, Release release) {
    run_at(2, [&] {
      ASSERT_TRUE(other.does(before));
      auto& is_woken = kept<std::atomic<bool>>(false);
      go([&is_woken, wait] {
        wait();
        is_woken = true;
      });
      ASSERT_TRUE(wait_until([&] { return test::waiting_for(reason) == 1; }));
      EXPECT_TRUE(other.does(release)) << "it has not come back";
      EXPECT_TRUE(wait_until([&] { return is_woken.load(); }));
    });
  }
  template <class Wait, class Release>
  void wakes(rt::wait_reason reason, Wait wait, Release release) {
    wakes(
        reason, [] {}, wait, release);
  }
};
THRUM_WITH_EACH_STRAGGLER(left_behind);

TEST_P(left_behind, T12_its_unlock_of_a_mutex_wakes_a_waiter_of_a_later_run) {
  auto& m = kept<mutex>();
  wakes(
      rt::wait_reason::mutex, [&m] { m.lock(); }, [&m] { m.lock(); }, [&m] { m.unlock(); });
}

TEST_P(left_behind, T12_its_unlock_of_a_shared_mutex_wakes_a_reader_of_a_later_run) {
  auto& m = kept<shared_mutex>();
  wakes(
      rt::wait_reason::read_lock, [&m] { m.lock(); }, [&m] { m.lock_shared(); }, [&m] { m.unlock(); });
}

TEST_P(left_behind, T12_its_unlock_shared_wakes_a_writer_of_a_later_run) {
  auto& m = kept<shared_mutex>();
  wakes(
      rt::wait_reason::write_lock, [&m] { m.lock_shared(); }, [&m] { m.lock(); }, [&m] { m.unlock_shared(); });
}

TEST_P(left_behind, T12_its_release_of_permits_wakes_a_waiter_of_a_later_run) {
  auto& permits = kept<semaphore>(0);
  wakes(
      rt::wait_reason::semaphore, [&permits] { permits.acquire(); }, [&permits] { permits.release(); });
}

TEST_P(left_behind, T12_its_done_wakes_a_waiter_of_a_later_run) {
  auto& all = kept<wait_group>();
  all.add(1);
  wakes(
      rt::wait_reason::wait_group, [&all] { all.wait(); }, [&all] { all.done(); });
}

TEST_P(left_behind, T12_its_count_down_wakes_a_waiter_of_a_later_run) {
  auto& opens = kept<latch>(1);
  wakes(
      rt::wait_reason::latch, [&opens] { opens.wait(); }, [&opens] { opens.count_down(); });
}

TEST_P(left_behind, T12_its_arrival_wakes_a_waiter_of_a_later_run) {
  auto& both = kept<barrier<>>(2);
  wakes(
      rt::wait_reason::barrier, [&both] { both.arrive_and_wait(); }, [&both] { static_cast<void>(both.arrive()); });
}

TEST_P(left_behind, T12_its_notification_wakes_a_waiter_of_a_later_run) {
  auto& m = kept<mutex>();
  auto& changed = kept<condition_variable>();
  wakes(
      rt::wait_reason::condition_variable,
      [&] {
        std::unique_lock lock(m);
        changed.wait(lock);
      },
      [&changed] { changed.notify_one(); });
}

TEST_P(left_behind, T12_its_cancellation_wakes_a_waiter_of_a_later_run) {
  auto& made = kept<cancelable>(with_cancel(context::background()));
  wakes(
      rt::wait_reason::chan_receive, [&made] { static_cast<void>(made.ctx.done().recv()); },
      [&made] { made.cancel(); });
}

// It is a reader that has to wait, so it must not count as one that is inside.
TEST_P(left_behind, T12_as_a_reader_that_has_to_wait_it_does_not_keep_writers_out) {
  auto& m = kept<shared_mutex>();
  run_at(2, [&] {
    m.lock();
    auto& has_come = kept<std::atomic<bool>>(false);
    other.begins([&m, &has_come] {
      has_come = true;
      m.lock_shared();
    });
    ASSERT_TRUE(wait_until([&] { return has_come.load(); }));
    sleep_for(std::chrono::milliseconds(20));  // it is on its way to its sleep; if it takes longer, the test is easier
    m.unlock();
    auto& has_locked = kept<std::atomic<bool>>(false);
    go([&] {
      m.lock();
      has_locked = true;
    });
    EXPECT_TRUE(wait_until([&] { return has_locked.load(); }));
  });
}

TEST_P(left_behind, T12_a_wait_for_a_change_unlocks_the_mutex_and_does_not_return) {
  auto& m = kept<mutex>();
  auto& changed = kept<condition_variable>();
  run_at(2, [&] {
    auto& has_locked = kept<std::atomic<bool>>(false);
    other.begins([&] {
      std::unique_lock lock(m);
      has_locked = true;
      changed.wait(lock);
      ADD_FAILURE() << "it waits in a later run";
    });
    ASSERT_TRUE(wait_until([&] { return has_locked.load(); }));
    auto& is_free = kept<std::atomic<bool>>(false);
    go([&] {
      m.lock();
      is_free = true;
      changed.notify_all();
      m.unlock();
    });
    EXPECT_TRUE(wait_until([&] { return is_free.load(); }));
  });
}

TEST(foreign_threads, S38_a_waker_that_is_dismissed_on_its_way_in_goes_on) {
  auto& epoch = kept<std::uint32_t>(0U);
  auto& has_entered = kept<std::atomic<bool>>(false);
  test::act_as_run_ends([&] { epoch = test::this_sched().epoch; },
                        [&] { has_entered = rt::enter_to_wake(epoch) != nullptr; });
  EXPECT_FALSE(has_entered);
}

// The owner of a starving mutex has released it, and its run ends before it has handed the mutex over.
TEST(mutex_of_an_earlier_run, T12_a_newcomer_to_a_starving_mutex_does_not_leave_it_locked) {
  constexpr std::uint32_t waiters_and_starving = 2 | 8;  // see thrum/mutex.h
  auto& m = kept<mutex>();
  run_at(2, [&m] {
    auto& state = reinterpret_cast<rt::atomic<std::uint32_t>&>(m);
    state.store(waiters_and_starving | rt::Sched::live_epoch.load(rt::relaxed) << 16U, rt::relaxed);
    go([&m] { m.lock(); });
    ASSERT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::mutex) == 1; }));
  });
  EXPECT_TRUE(m.try_lock());
}

}  // namespace
}  // namespace thrum
