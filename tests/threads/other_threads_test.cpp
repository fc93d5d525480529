// Threads at the edges of a run: threads that sleep in the kernel when the run ends, foreign threads that are about to
// end, and threads that are left in the parent of a fork.
#include "base/platform.h"
#include "core/sched.h"
#include "os/thread.h"
#include "support/asleep.h"
#include "support/child.h"
#include "support/child_test.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::sleeps_in_the_kernel;
using test::wait_until;

class other_threads : public test::child_test {};

// If the end of the run woke the thread, its call would fail, and the goroutine would continue after its run has ended.
TEST_F(other_threads, T04_the_end_of_a_run_wakes_no_thread_that_sleeps_in_the_kernel) {
  EXPECT_EXIT(
      {
        static std::atomic<int> tid{0};
        static std::atomic<bool> has_returned{false};
        run_at(2, [] {
          go([] {
            tid = rt::os::current_tid();
            static_cast<void>(::poll(nullptr, 0, -1));
            has_returned = true;
          });
          EXPECT_TRUE(wait_until([] { return tid != 0 && sleeps_in_the_kernel(tid); }));
        });
        std::exit(has_returned ? 1 : 7);
      },
      testing::ExitedWithCode(7), "");
}

// The last thread that could have woken a goroutine may be any of them.
TEST_F(other_threads, S20_T13_a_deadlock_is_found_when_many_threads_from_outside_have_ended_at_once) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_FATAL(
      {
        run_at(2, [] {
          chan<int> const words(8);
          std::vector<std::thread> all;
          std::latch together(8);
          for (int i = 0; i < 8; ++i) {
            all.emplace_back([&, words] {
              words.send(1);
              together.arrive_and_wait();
            });
          }
          for (int i = 0; i < 8; ++i) static_cast<void>(words.recv());
          for (std::thread& each : all) each.detach();
          static_cast<void>(chan<int>().recv());
        });
      },
      "all goroutines are asleep");
}

// On a stack of its own: the test's frames catch what unwinds them.
[[noreturn]] void end_this_thread() {
  static std::array<char, 1 << 16> stack;
  ucontext_t there{};
  ::getcontext(&there);
  there.uc_stack.ss_sp = stack.data();
  there.uc_stack.ss_size = stack.size();
  ::makecontext(
      &there, [] { ::pthread_exit(nullptr); }, 0);
  ::setcontext(&there);
  std::abort();
}

// The kernel lists it until the process ends.
TEST_F(other_threads, S38_a_run_ends_although_the_first_thread_has_used_it_and_left) {
  if (rt::with_asan || rt::with_tsan) GTEST_SKIP() << "the sanitizer does not know this stack";
  EXPECT_EXIT(
      {
        static std::atomic<bool> has_begun{false};
        static std::atomic<bool> has_left{false};
        static chan<int> const words(1);
        std::thread([] {
          run_at(2, [] {
            has_begun = true;
            static_cast<void>(words.recv());
            EXPECT_TRUE(wait_until([] { return has_left.load(); }));
            go([] { thrum::lock_os_thread(); });  // needs a thread
            for (int i = 0; i < 100; ++i) thrum::yield();
          });
          std::exit(7);
        }).detach();
        while (!has_begun) rt::os::yield_thread();
        words.send(1);
        has_left = true;
        end_this_thread();
      },
      testing::ExitedWithCode(7), "");
}

// The threads that an earlier run stopped for good are in the parent only. A thread that can wake a goroutine in the
// child must not be taken for one of them.
TEST_F(other_threads, T13_threads_that_are_asleep_in_the_parent_are_not_counted_in_the_child) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  if (test::emulated()) GTEST_SKIP() << "an emulator with several threads does not survive its fork";
  EXPECT_EXIT(
      {
        test::with_slices_of const slices(1ms);
        run_at(2, [] {
          static std::atomic<bool> has_begun{false};
          go([] {
            has_begun = true;
            test::loop_for_ever();
          });
          EXPECT_TRUE(wait_until([] { return has_begun.load(); }));
        });
        EXPECT_TRUE(wait_until([] { return rt::Sched::threads_asleep_for_good.load(rt::relaxed) > 0; }));
        pid_t const child = ::fork();
        if (child == 0) {
          ::alarm(30);  // it must not outlive the test
          chan<int> const words;
          std::thread helper;
          run_at(1, [&] {
            helper = std::thread([=] {
              auto const until = clock::now() + 20ms;  // the others are long asleep then
              while (clock::now() < until) rt::os::yield_thread();
              words.send(1);
            });
            static_cast<void>(words.recv());
          });
          helper.join();
          ::_exit(7);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace thrum
