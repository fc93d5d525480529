// fork() beside a scheduler: the child has one thread, and may exec, exit or _exit. Nothing of the parent is disturbed.
#include "base/platform.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

enum class leaves_by { exec, underscore_exit, exit };

// By exit; and in a child, the threads whose stacks refer to things are gone.
#if defined(__clang__)
constexpr bool leaks_are_looked_for = rt::with_asan;
#else
constexpr bool leaks_are_looked_for = false;  // see cmake/leak_check_off.cpp
#endif

// The exit code of a child that is forked here.
int fork_and_leave(leaves_by way) {
  pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(30);  // it must not outlive the test
    switch (way) {
      case leaves_by::exec: ::execl("/bin/sh", "sh", "-c", "exit 7", nullptr); break;
      case leaves_by::underscore_exit: ::_exit(7);
      case leaves_by::exit: std::exit(7);
    }
    ::_exit(99);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

class forks : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(forks);

TEST_P(forks, a_child_may_exec_or_exit) {
  run([] {
    std::atomic<bool> stop{false};
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&] {
        while (!stop) {
          thrum::yield();
          sleep_for(10us);
        }
      });
    }
    for (auto const way : {leaves_by::exec, leaves_by::underscore_exit, leaves_by::exit}) {
      if (way == leaves_by::exit && leaks_are_looked_for) continue;
      EXPECT_EQ(blocking([way] { return fork_and_leave(way); }), 7);
      EXPECT_EQ(spawn([way] { return fork_and_leave(way); }).join(), 7);
      std::atomic<int> code{0};
      std::thread outside([&] {
        go([] {});
        code = fork_and_leave(way);
      });
      EXPECT_TRUE(test::wait_until([&] { return code != 0; }));
      EXPECT_EQ(code, 7);
      outside.join();
    }
    stop = true;
    all.wait();
  });
}

}  // namespace
}  // namespace thrum
