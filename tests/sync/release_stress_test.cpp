// T14 for the primitives that hand over: a goroutine that was let go destroys the object that it waited on at once,
// while the goroutines that let it go may be on their way out of their calls.
#include "support/baton.h"
#include "support/grave.h"
#include "support/run_at.h"
#include "support/scale.h"
#include <thrum/barrier.h>
#include <thrum/condition_variable.h>
#include <thrum/go.h>
#include <thrum/latch.h>
#include <thrum/mutex.h>
#include <thrum/semaphore.h>
#include <thrum/shared_mutex.h>
#include <thrum/wait_group.h>

#include <cstdint>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class handed_over : public release_at_once {};

THRUM_AT_WIDTHS(handed_over, 1, 2, 8);

TEST_P(handed_over, T14_a_shared_mutex_destroyed_by_the_writer_its_last_reader_let_in) {
  on_many(scaled(50'000, 1000), [](std::int64_t round) {
    return dies_at_once<shared_mutex>(round, [round](shared_mutex& guard) {
      int inside = 0;  // plain: the readers have left when the writer is in
      wait_group reading;
      reading.add(2);
      for (int i = 0; i < 2; ++i) {
        go([&, i] {
          guard.lock_shared();
          reading.done();
          pause(round + i);
          if (round % 8 == 2 * i) yield();
          guard.unlock_shared();  // no goroutine is told that this has returned
        });
      }
      reading.wait();
      pause(round / 50);
      guard.lock();
      ++inside;
      guard.unlock();
      return inside == 1;
    });
  });
}

TEST_P(handed_over, T14_a_shared_mutex_destroyed_by_a_reader_its_writer_let_in) {
  on_many(scaled(50'000, 1000), [](std::int64_t round) {
    return dies_at_once<shared_mutex>(round, [round](shared_mutex& guard) {
      bool written = false;
      baton held;
      go([&] {
        guard.lock();
        held.pass();
        pause(round);
        if (round % 8 == 0) yield();
        written = true;
        guard.unlock();
      });
      held.take();
      pause(round / 50);
      guard.lock_shared();
      bool const seen = written;
      guard.unlock_shared();
      return seen;
    });
  });
}

// Newcomers that are counted and must wait nevertheless, readers that leave, and writers. The goroutine that comes last
// destroys the mutex.
TEST_P(handed_over, T14_a_shared_mutex_destroyed_by_the_last_of_a_crowd) {
  on_many(scaled(30'000, 600), [](std::int64_t round) {
    return dies_at_once<shared_mutex>(round, [round](shared_mutex& guard) {
      constexpr int crowd = 5;
      int users = crowd;  // written under the lock
      baton gone;
      auto const use = [&](int i) {
        pause(round + 3 * i);
        if (i % 2 == 0) {
          guard.lock_shared();
          if (round % 16 == i) yield();
          guard.unlock_shared();
        }
        guard.lock();
        bool const last = --users == 0;
        if (round % 16 == i + 1) yield();
        guard.unlock();
        return last;
      };
      for (int i = 1; i < crowd; ++i) {
        go([&, i] {
          if (use(i)) gone.pass();
        });
      }
      if (!use(0)) gone.take();
      return users == 0;
    });
  });
}

TEST_P(handed_over, T14_a_condition_variable_and_its_mutex_destroyed_by_the_waiter) {
  struct signal {
    mutex guard;
    condition_variable changed;
    bool is_set = false;
  };
  on_many(scaled(50'000, 1000), [](std::int64_t round) {
    return dies_at_once<signal>(round, [round](signal& s) {
      go([&s, round] {
        pause(round);
        std::lock_guard const held(s.guard);
        s.is_set = true;
        if (round % 4 < 2) {
          s.changed.notify_one();
        } else {
          s.changed.notify_all();
        }
      });
      pause(round / 50);
      std::unique_lock lock(s.guard);
      s.changed.wait(lock, [&] { return s.is_set; });
      return s.is_set;
    });
  });
}

TEST_P(handed_over, T14_a_semaphore_destroyed_by_the_goroutine_that_acquired_the_last) {
  on_many(scaled(50'000, 1000), [](std::int64_t round) {
    return dies_at_once<semaphore>(round, [round](semaphore& permits) {
      go([&permits, round] {
        pause(round);
        permits.release();
      });
      go([&permits] { permits.release(2); });
      pause(round / 50);
      permits.acquire();
      permits.acquire(2);
      return !permits.try_acquire();
    });
  });
}

TEST_P(handed_over, T14_a_latch_destroyed_by_its_waiter) {
  on_many(scaled(50'000, 1000), [](std::int64_t round) {
    return dies_at_once<latch>(
        round,
        [round](latch& gate) {
          go([&gate, round] {
            pause(round);
            gate.count_down();
          });
          go([&gate] { gate.count_down(); });
          pause(round / 50);
          gate.wait();
          return gate.try_wait();
        },
        2);
  });
}

TEST_P(handed_over, T14_a_barrier_destroyed_by_its_waiter) {
  on_many(scaled(50'000, 1000), [](std::int64_t round) {
    return dies_at_once<barrier<>>(
        round,
        [round](barrier<>& step) {
          go([&step, round] {
            pause(round);
            static_cast<void>(step.arrive());
          });
          go([&step] { step.arrive_and_drop(); });
          pause(round / 50);
          step.arrive_and_wait();
          return true;
        },
        3);
  });
}

}  // namespace
}  // namespace thrum::test
