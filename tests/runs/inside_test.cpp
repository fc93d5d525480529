// Goroutines that are inside the runtime when their run ends.
#include "core/current.h"
#include "core/sched.h"
#include "os/thread_state.h"
#include "support/child_test.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include "support/with_environment.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;

bool sleeps_inside(rt::M const* m) {
  if (m == nullptr || !m->in_runtime.load(rt::relaxed)) return false;
  rt::os::thread_watch watch;
  return watch.look(m->tid).waits_for_a_lock();
}

// Holds the lock of a bucket until the run's end has begun to wait for the threads inside, and for a while longer.
// Returns whether run() returned before the lock was released.
bool returned_before_release(rt::Sched& s, rt::wait_bucket& bucket, std::atomic<bool>& is_held,
                             std::atomic<bool> const& returned) {
  bucket.acquire();
  is_held = true;
  bool const has_begun = test::wait_until([&] { return s.end.goroutines_are_left_behind() || returned; });
  auto const until = std::chrono::steady_clock::now() + 100ms;
  while (!returned && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  bool const was_early = !has_begun || returned;
  bucket.release();
  return was_early;
}

// The goroutine is about to change the mutex, in the name of its run. The next run must not begin before it is done.
TEST(inside_at_the_end, a_thread_that_sleeps_for_a_lock_of_the_runtime_is_waited_for) {
  static mutex of_the_program;
  static std::atomic<rt::M*> waiter{nullptr};
  std::atomic<bool> returned{false};
  std::atomic<bool> is_held{false};
  std::atomic<bool> was_early{true};
  std::thread holder;
  run_at(2, [&] {
    of_the_program.lock();
    rt::Sched& s = rt::current_m()->sched;
    holder = std::thread(
        [&] { was_early = returned_before_release(s, s.waiters.bucket_of(&of_the_program), is_held, returned); });
    EXPECT_TRUE(test::spin_until([&] { return is_held.load(); }));
    go([] {
      waiter = rt::current_m();
      of_the_program.lock();
    });
    EXPECT_TRUE(test::spin_until([] { return sleeps_inside(waiter); }));
  });
  returned = true;
  holder.join();
  EXPECT_FALSE(was_early);
  of_the_program.unlock();
}

// --- a thread that keeps the end of the run waiting ---

std::atomic<rt::M const*> foreign_m{nullptr};
std::atomic<bool> moves_on{false};

// Its move constructor does not return for long, so the thread that makes a goroutine of it keeps the end of the run
// waiting.
struct slow_to_move {
  slow_to_move() = default;
  slow_to_move(slow_to_move&&) noexcept {
    foreign_m = rt::current_m();
    while (!moves_on) std::this_thread::yield();
  }
  void operator()() const {}
};

// The end of the run begins by telling foreign threads that it is over, and waits for them for a while.
bool end_has_begun() {
  return test::spin_until(
      [] { return foreign_m.load() != nullptr && foreign_m.load()->run_is_over.load(rt::relaxed); });
}

// --- a foreign thread that is woken while the run ends ---

std::atomic<bool> is_in_handler{false};
std::atomic<bool> may_leave_handler{false};
std::atomic<rt::M const*> receiver_m{nullptr};

// The receiver is in a signal handler, as if it got no CPU. The goroutine wakes it after the end of the run has looked
// at it, and an M gives it a P. It will change the channel in the name of this run.
TEST(inside_at_the_end, a_foreign_thread_that_was_given_a_processor_is_waited_for) {
  if (rt::with_tsan) GTEST_SKIP() << "TSan delivers the signal only after the thread was woken";
  struct sigaction mine {};
  mine.sa_handler = [](int) {
    is_in_handler = true;
    while (!may_leave_handler) rt::cpu_relax();
  };
  ::sigaction(SIGUSR1, &mine, nullptr);
  std::atomic<bool> returned{false};
  std::atomic<bool> was_early{true};
  std::thread receiver;
  std::thread slow;
  std::thread watcher;
  {
    chan<int> numbers;
    run_at(2, [&] {
      slow = std::thread([] { go(slow_to_move()); });
      EXPECT_TRUE(test::spin_until([] { return foreign_m.load() != nullptr; }));
      receiver = std::thread([&] {  // comes after the slow one, so the end of the run looks at it first
        receiver_m = rt::callers_m();
        static_cast<void>(numbers.recv());
      });
      EXPECT_TRUE(test::spin_until([] { return sleeps_inside(receiver_m); }));
      ::pthread_kill(receiver.native_handle(), SIGUSR1);
      EXPECT_TRUE(test::spin_until([] { return is_in_handler.load(); }));
      watcher = std::thread([&] {
        static_cast<void>(test::wait_until([] { return rt::hint_of(receiver_m.load()->next_p) != nullptr; }));
        moves_on = true;
        auto const until = std::chrono::steady_clock::now() + 600ms;
        while (!returned && std::chrono::steady_clock::now() < until) std::this_thread::yield();
        was_early = returned.load();
        may_leave_handler = true;
      });
      go([&] {
        EXPECT_TRUE(end_has_begun());
        // By then the end of the run has looked at the receiver, and waits for the slow thread, for up to 200 ms.
        auto const until = std::chrono::steady_clock::now() + 100ms;
        while (std::chrono::steady_clock::now() < until) rt::cpu_relax();
        numbers.send(1);
      });
    });
    returned = true;
    watcher.join();
    slow.join();
    receiver.join();
  }
  EXPECT_FALSE(was_early);
  foreign_m = nullptr;
  moves_on = false;
}

// --- exit() in an announced call, while the run ends ---

std::atomic<bool> is_in_call{false};

void exit_when_the_end_has_begun() {
  is_in_call = true;
  static_cast<void>(end_has_begun());
  std::exit(7);
}

class exit_in_an_announced_call : public test::child_test {};

// No P is free when exit() is called, and none becomes free before the run ends.
TEST_F(exit_in_an_announced_call, keeps_its_code_if_the_run_ends_while_it_waits_for_a_p) {
  test::without_reports_of_unjoined_threads const meanwhile;  // sysmon may have ended
  EXPECT_EXIT(
      {
        test::without_slices const uninterrupted;
        run_at(1, [] {
          go([] { blocking(exit_when_the_end_has_begun); });
          EXPECT_TRUE(test::wait_until([] { return is_in_call.load(); }));
          std::thread([] { go(slow_to_move()); }).detach();
          EXPECT_TRUE(test::wait_until([] { return foreign_m.load() != nullptr; }));
          go([] {
            for (;;) rt::cpu_relax();
          });
        });
        ::_exit(1);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace thrum
