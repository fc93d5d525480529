// Objects that outlive a run (T12). Each contains what a goroutine that waited at the end of the first run has left in
// it. Then a foreign thread releases the object at about the moment at which the second run begins, in which main waits
// for the object. Whatever the order, main continues.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace thrum {
namespace {

void spin(std::int64_t steps) {
  for (std::int64_t i = 0; i < steps * 1000; ++i) rt::cpu_relax();
}

class between_runs : public test::at_every_width {
 protected:
  // `first` runs on main of the first run. It starts a goroutine that waits for the given reason and is left behind.
  // `release` runs on a foreign thread. `second` runs on main of the second run, and returns when the object was
  // released.
  template <class First, class Release, class Second>
  static void repeat(rt::wait_reason reason, First first, Release release, Second second) {
    for (std::int64_t round = 0; round < test::scaled(300, 40); ++round) {
      run([&] {
        first();
        ASSERT_TRUE(test::wait_until([&] { return test::waiting_for(reason) == 1; }));
      });
      // From long before the run begins until long after that.
      std::atomic<bool> begins{false};
      std::int64_t const shift = round % 32 - 16;
      std::thread outside([&] {
        while (!begins) std::this_thread::yield();
        spin(shift);
        release();
      });
      begins = true;
      spin(-shift);
      run(second);
      outside.join();
    }
  }
};
THRUM_AT_WIDTHS(between_runs, 1, 2);

TEST_P(between_runs, semaphore) {
  semaphore permits;
  repeat(
      rt::wait_reason::semaphore, [&] { go([&] { permits.acquire(); }); }, [&] { permits.release(); },
      [&] { permits.acquire(); });
  EXPECT_FALSE(permits.try_acquire());
}

TEST_P(between_runs, mutex) {
  mutex m;
  m.lock();
  repeat(
      rt::wait_reason::mutex, [&] { go([&] { m.lock(); }); }, [&] { m.unlock(); }, [&] { m.lock(); });
  m.unlock();
  EXPECT_TRUE(m.try_lock());
}

TEST_P(between_runs, shared_mutex_that_a_writer_leaves) {
  shared_mutex m;
  m.lock();
  repeat(
      rt::wait_reason::read_lock, [&] { go([&] { m.lock_shared(); }); }, [&] { m.unlock(); }, [&] { m.lock(); });
  m.unlock();
  EXPECT_TRUE(m.try_lock());
}

TEST_P(between_runs, shared_mutex_that_a_reader_leaves) {
  shared_mutex m;
  m.lock_shared();
  repeat(
      rt::wait_reason::write_lock, [&] { go([&] { m.lock(); }); }, [&] { m.unlock_shared(); },
      [&] {
        m.lock();
        m.unlock();
        m.lock_shared();
      });
  m.unlock_shared();
  EXPECT_TRUE(m.try_lock());
}

TEST_P(between_runs, latch) {
  std::optional<latch> opens;
  repeat(
      rt::wait_reason::latch,
      [&] {
        opens.emplace(1);
        go([&] { opens->wait(); });
      },
      [&] { opens->count_down(); }, [&] { opens->wait(); });
}

TEST_P(between_runs, barrier) {
  barrier<> all(3);
  repeat(
      rt::wait_reason::barrier, [&] { go([&] { all.arrive_and_wait(); }); }, [&] { static_cast<void>(all.arrive()); },
      [&] { all.arrive_and_wait(); });
}

TEST_P(between_runs, wait_group) {
  wait_group all;
  repeat(
      rt::wait_reason::wait_group,
      [&] {
        all.add(1);
        go([&] { all.wait(); });
      },
      [&] { all.done(); }, [&] { all.wait(); });
}

TEST_P(between_runs, once) {
  struct first_use {
    once init;
    std::atomic<bool> may_end{false};
    std::thread outside;
    ~first_use() { outside.join(); }
  };
  std::optional<first_use> use;
  repeat(
      rt::wait_reason::once,
      [&] {
        use.emplace();
        std::atomic<bool> has_begun{false};
        use->outside = std::thread([&] {
          use->init.call([&] {
            has_begun = true;
            while (!use->may_end) std::this_thread::yield();
          });
        });
        ASSERT_TRUE(test::wait_until([&] { return has_begun.load(); }));
        go([&] { use->init.call([] {}); });
      },
      [&] { use->may_end = true; }, [&] { use->init.call([] {}); });
}

TEST_P(between_runs, condition_variable) {
  mutex m;
  condition_variable changed;
  bool is_set = false;
  repeat(
      rt::wait_reason::condition_variable,
      [&] {
        is_set = false;
        go([&] {
          std::unique_lock lock(m);
          changed.wait(lock);
        });
      },
      [&] {
        while (!m.try_lock()) std::this_thread::yield();  // outside a run it cannot wait
        is_set = true;
        m.unlock();
        changed.notify_one();
      },
      [&] {
        std::unique_lock lock(m);
        changed.wait(lock, [&] { return is_set; });
      });
}

TEST_P(between_runs, channel_of_a_context) {
  std::optional<cancelable> made;
  repeat(
      rt::wait_reason::chan_receive,
      [&] {
        made.emplace(with_cancel(context::background()));
        go([done = made->ctx.done()] { static_cast<void>(done.recv()); });
      },
      [&] { made->cancel(); }, [&] { static_cast<void>(made->ctx.done().recv()); });
}

}  // namespace
}  // namespace thrum
