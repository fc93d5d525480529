// A program whose standard error is not read, or cannot be written, ends with its report all the same: a pipe, a
// terminal and a file.
#include "base/check.h"
#include "base/platform.h"
#include "base/standard_error.h"
#include "core/current.h"
#include "core/sched.h"
#include "crash/piped_stderr.h"
#include "os/lock.h"
#include "support/child_test.h"
#include "support/wait_until.h"
#include "sys/report_text.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class full_stderr_of_a_run : public child_test {
 protected:
  // Called in a child process. Standard error is a terminal that no process reads. It says that it is ready as long as
  // it has room for one byte.
  static void fill_terminal(void (*then_lose_it)() = [] {}) {
    rt::set_stderr_patience(std::chrono::nanoseconds(patience).count());
    int const reader = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (reader < 0 || ::grantpt(reader) != 0 || ::unlockpt(reader) != 0) ::_exit(no_terminal);
    int const terminal = ::open(::ptsname(reader), O_WRONLY | O_NOCTTY);
    if (terminal < 0 || ::dup2(terminal, STDERR_FILENO) != STDERR_FILENO) ::_exit(no_terminal);
    then_lose_it();
    for (int i = 0; i < 2000 && !rt::stderr_is_given_up(); ++i) {
      rt::print_error("a line of some length, of which a terminal that is not read takes a few hundred");
    }
    if (!rt::stderr_is_given_up()) ::_exit(9);
  }
  static constexpr int no_terminal = 8;

  // Called in a child process. Standard error stays full.
  static void fill_stderr() {
    rt::set_stderr_patience(std::chrono::nanoseconds(patience).count());
    static piped_stderr const pipe;
    pipe.fill();
    pipe.write_blocks();
  }
};

void panic_in_a_run() {
  thrum::run([] {
    go([] { throw std::runtime_error("no process reads this"); });
    sleep_for(1h);
  });
}
void deadlock_in_a_run() {
  thrum::run([] { static_cast<void>(chan<int>().recv()); });
}

TEST_F(full_stderr_of_a_run, does_not_keep_a_panic_from_ending_the_program) {
  EXPECT_EXIT(
      {
        fill_stderr();
        panic_in_a_run();
      },
      testing::ExitedWithCode(2), "");
}

TEST_F(full_stderr_of_a_run, does_not_keep_a_panic_that_shows_all_goroutines_from_ending_the_program) {
  EXPECT_EXIT(
      {
        fill_stderr();
        thrum::run([] {
          for (int i = 0; i < 100; ++i) go([] { sleep_for(1h); });
          go([] { throw std::runtime_error("no process reads this"); });
          sleep_for(1h);
        });
      },
      testing::ExitedWithCode(2), "");
}

TEST_F(full_stderr_of_a_run, does_not_keep_a_fatal_error_from_ending_the_program) {
  EXPECT_EXIT(
      {
        fill_stderr();
        thrum::run([] { mutex().unlock(); });
      },
      testing::ExitedWithCode(2), "");
}

TEST_F(full_stderr_of_a_run, does_not_keep_a_deadlock_from_ending_the_program) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_EXIT(
      {
        fill_stderr();
        deadlock_in_a_run();
      },
      testing::ExitedWithCode(2), "");
}

TEST_F(full_stderr_of_a_run, does_not_keep_SIGQUIT_from_ending_the_program) {
  EXPECT_EXIT(
      {
        fill_stderr();
        thrum::run([] {
          ::kill(::getpid(), SIGQUIT);
          sleep_for(1h);
        });
      },
      testing::ExitedWithCode(2), "");
}

// Standard error becomes full when the world is being stopped for the report on the other goroutines, and one goroutine
// cannot be stopped. A write waits for a minute, and goroutines go on before that.
TEST_F(full_stderr_of_a_run, does_not_keep_the_world_stopped) {
  EXPECT_EXIT(
      {
        rt::set_stderr_patience(std::chrono::nanoseconds(1h).count());
        static piped_stderr const pipe;
        static std::atomic<bool> is_full{false};
        static std::atomic<bool> loops{false};
        thrum::run(
            [] {
              static rt::Sched& s = rt::current_m()->sched;
              static auto const world_stops = [] {
                rt::os::lock_guard const guard(s.lock);
                return s.world.is_under_way();
              };
              go([] {
                sigset_t all;
                ::sigfillset(&all);
                ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
                loops = true;
                if (!spin_until(world_stops)) ::_exit(8);
                pipe.fill();
                is_full = true;
                for (;;) asm volatile("");
              });
              while (!loops) thrum::yield();
              go([] { throw std::runtime_error("no process reads this"); });
              while (!is_full || world_stops()) thrum::yield();
              ::_exit(rt::stderr_would_wait() ? 7 : 9);
            },
            {.max_procs = 3});
      },
      testing::ExitedWithCode(7), "");
}

// --- a terminal ---

TEST_F(full_stderr_of_a_run, that_is_a_terminal_does_not_hold_a_report_up_for_ever) {
  EXPECT_EXIT(
      {
        fill_terminal();
        for (int i = 0; i < 200; ++i) rt::print_error("lost");
        rt::report_text out;
        out.begin(500'000);
        for (int i = 0; i < 10'000; ++i) out.add("line %d of a report of sysmon\n", i);
        out.send();
        ::_exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST_F(full_stderr_of_a_run, that_is_a_terminal_does_not_keep_a_panic_from_ending_the_program) {
  EXPECT_EXIT(
      {
        fill_terminal();
        panic_in_a_run();
      },
      testing::ExitedWithCode(2), "");
}

TEST_F(full_stderr_of_a_run, that_is_a_terminal_does_not_keep_a_deadlock_from_ending_the_program) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_EXIT(
      {
        fill_terminal();
        deadlock_in_a_run();
      },
      testing::ExitedWithCode(2), "");
}

// The terminal belongs to another user, so the process cannot open it once more (`sudo -u`, or a program that gives its
// rights up).
TEST_F(full_stderr_of_a_run, that_is_a_terminal_of_another_user_does_not_hold_a_report_up_for_ever) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  auto const become_another_user = [] {
    constexpr uid_t another = 65534;
    if (::fchown(STDERR_FILENO, 0, 0) != 0 || ::fchmod(STDERR_FILENO, 0600) != 0 || ::setuid(another) != 0) ::_exit(10);
    if (::open("/proc/self/fd/2", O_WRONLY | O_NOCTTY) >= 0) ::_exit(11);
  };
  EXPECT_EXIT(
      {
        fill_terminal(become_another_user);
        panic_in_a_run();
      },
      testing::ExitedWithCode(2), "");
}

// The program has started a process on a terminal, for example, and its standard error is the master's side.
TEST(full_stderr, that_is_the_master_of_a_terminal_takes_a_report) {
  int const master = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) GTEST_SKIP() << "this machine has no terminals";
  int const reader = ::open(::ptsname(master), O_RDWR | O_NOCTTY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  int const before = ::dup(STDERR_FILENO);
  ASSERT_EQ(::dup2(master, STDERR_FILENO), STDERR_FILENO);
  rt::print_error("taken");
  ASSERT_EQ(::dup2(before, STDERR_FILENO), STDERR_FILENO);
  char text[16] = {};
  bool const is_read = wait_until([&] { return ::read(reader, text, sizeof text - 1) > 0; });
  for (int const fd : {before, reader, master}) ::close(fd);
  EXPECT_TRUE(is_read);
  EXPECT_STREQ(text, "taken\n");
}

TEST_F(full_stderr_of_a_run, that_is_a_file_of_the_largest_size_does_not_end_the_program) {
  EXPECT_EXIT(
      {
        std::FILE* const file = std::tmpfile();
        rlimit nothing{};
        if (file == nullptr || ::setrlimit(RLIMIT_FSIZE, &nothing) != 0) ::_exit(8);
        ::dup2(::fileno(file), STDERR_FILENO);
        rt::print_error("lost");
        ::_exit(7);
      },
      testing::ExitedWithCode(7), "");
}

// --- sysmon ---

// With one P, main gets its turn only if sysmon ends the slice of the goroutine that loops.
TEST_F(full_stderr_of_a_run, does_not_stop_sysmon_that_has_a_trace_to_write) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer defers signals: loops without calls are not preempted";
  EXPECT_EXIT(
      {
        ::setenv("THRUM_DEBUG", "schedtrace=1", 1);
        piped_stderr const pipe;
        pipe.fill();
        pipe.write_blocks();
        thrum::run(
            [] {
              sleep_for(std::chrono::milliseconds(20));  // traces are due
              static std::atomic<bool> loops{false};
              go([] {
                loops = true;
                for (;;) asm volatile("");
              });
              while (!loops) thrum::yield();
              ::_exit(7);
            },
            {.max_procs = 1});
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace thrum::test
