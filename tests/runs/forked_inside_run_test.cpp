// A child of fork whose parent was inside run() has no scheduler. Calls that need a scheduler report that, and run()
// returns in the child. Nothing hangs.
#include "base/atomic.h"
#include "base/platform.h"
#include "os/unknown_child.h"
#include "runs/in_child.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

class forked_inside_run : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(forked_inside_run);

// The goroutines that wait in the parent are not there in the child: nothing is woken, and nothing hangs.
TEST_P(forked_inside_run, objects_for_which_the_parent_waits_are_released) {
  run([] {
    mutex m;
    semaphore permits;
    latch opens(1);
    m.lock();
    wait_group all;
    all.go([&] {
      m.lock();
      m.unlock();
    });
    all.go([&] { permits.acquire(); });
    all.go([&] { opens.wait(); });
    ASSERT_TRUE(test::wait_until([] {
      return test::waiting_for(rt::wait_reason::mutex) == 1 && test::waiting_for(rt::wait_reason::semaphore) == 1 &&
             test::waiting_for(rt::wait_reason::latch) == 1;
    }));
    EXPECT_EQ(in_child([&] {
                m.unlock();
                permits.release();
                opens.count_down();
                return m.try_lock() && permits.try_acquire() && opens.try_wait() ? as_expected : 30;
              }),
              as_expected);
    m.unlock();
    permits.release();
    opens.count_down();
    all.wait();
  });
}

TEST_P(forked_inside_run, what_needs_a_runtime_says_why_there_is_none) { run(fork_from_everywhere); }

TEST_P(forked_inside_run, a_joiner_goes_on_after_a_goroutine_that_it_ran_in_place) {
  run([] {
    auto const code = [] {
      pid_t const child = spawn([] { return fork_with_a_limit(); }).join();
      if (child == 0) ::_exit(as_expected);
      return exit_code_of(child);
    }();
    EXPECT_TRUE(code == as_expected || code == 2) << code << ": 2 if it did not run in place";
  });
}

TEST_P(forked_inside_run, run_returns_when_main_does) {
  if (rt::with_asan || rt::with_tsan) GTEST_SKIP() << "the sanitizer is not told of the change of stacks";
  for (bool const leaves_its_thread : {false, true}) {
    for (bool const throws : {false, true}) {
      pid_t child = -1;
      bool has_thrown = false;
      try {
        run([&] {
          if (leaves_its_thread) test::leave_m0();
          child = fork_with_a_limit();
          if (throws) throw std::runtime_error("as asked");
        });
      } catch (std::runtime_error const&) {
        has_thrown = true;
      }
      if (child == 0) ::_exit(has_thrown == throws ? as_expected : 20);
      EXPECT_EQ(exit_code_of(child), as_expected) << leaves_its_thread << throws;
    }
  }
}

TEST_P(forked_inside_run, another_goroutine_that_ends_there_ends_the_child_with_a_report) {
  run([] {
    chan<pid_t> forked(1);
    go([forked] {
      if (pid_t const child = fork_with_a_limit(); child != 0) forked.send(child);
    });
    EXPECT_EQ(exit_code_of(*forked.recv()), 2);
    go([forked] {
      pid_t const child = fork_with_a_limit();
      if (child == 0) throw std::runtime_error("no handler catches it");
      forked.send(child);
    });
    EXPECT_EQ(exit_code_of(*forked.recv()), 2);
  });
}

// A child for which the C library calls no handlers, as with _Fork. 0 in the child.
pid_t clone_with_a_limit() {
  auto const child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) ::alarm(60);
  return child;
}

template <class F>
int in_clone(F f) {
  pid_t const child = clone_with_a_limit();
  if (child == 0) {
    f();
    ::_exit(as_expected);
  }
  return exit_code_of(child);
}

TEST_P(forked_inside_run, a_child_of_which_the_C_library_does_not_tell_ends_with_a_report_where_it_would_hang) {
  if (rt::with_asan || rt::with_tsan) GTEST_SKIP() << "the sanitizers want to know of their children";
  run([] {
    constexpr int with_report = 2;
    EXPECT_EQ(in_clone([] {}), as_expected) << "it may call _exit";
    EXPECT_EQ(in_clone([] { static_cast<void>(chan<int>().recv()); }), with_report);
    EXPECT_EQ(in_clone([] { wait_group().wait(); }), as_expected) << "nothing is waited for";
    EXPECT_EQ(in_clone([] { sleep_for(std::chrono::hours(1)); }), with_report);
    EXPECT_EQ(in_child(look_at_everything), as_expected) << "a child of fork is known as before";
    EXPECT_EQ(spawn([] { return 5; }).join(), 5) << "the parent goes on";
  });
}

// A snapshot of a process may be taken by means of a fork. Then the restored process has its number and its threads,
// but the page by which children are recognised is clear, as in a child.
TEST_P(forked_inside_run, a_process_that_was_restored_from_a_snapshot_goes_on_and_still_recognises_children) {
  if (rt::with_asan || rt::with_tsan) GTEST_SKIP() << "the sanitizers want to know of their children";
  run([] {
    rt::atomic<std::uint32_t>* const sign = rt::os::unknown_child::sign.load(rt::relaxed);
    if (sign == nullptr) GTEST_SKIP() << "the kernel clears no page for a child";
    sign->store(0, rt::relaxed);
    sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(spawn([] { return 5; }).join(), 5);
    EXPECT_EQ(sign->load(rt::relaxed), 1U);
    EXPECT_EQ(in_clone([] { static_cast<void>(chan<int>().recv()); }), 2) << "a child ends with a report";
  });
}

TEST(forked_beside_a_runtime, its_owner_may_destroy_it) {
  pid_t child = -1;
  {
    runtime const embedded;
    spawn([] {}).join();
    child = fork_with_a_limit();
  }
  if (child == 0) ::_exit(as_expected);
  EXPECT_EQ(exit_code_of(child), as_expected);
}

}  // namespace
}  // namespace thrum
