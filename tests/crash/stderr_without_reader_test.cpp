// Standard error whose reader has gone. A write to it raises SIGPIPE, which must not end the program.
#include "base/check.h"
#include "crash/crasher.h"
#include "support/child_test.h"
#include <thrum/thrum.h>

#include <chrono>
#include <exception>
#include <ostream>
#include <stdexcept>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

enum class lost { pipe, pipe_of_a_program_with_sockets, socket };

void PrintTo(lost what, std::ostream* out) {
  *out << (what == lost::pipe ? "pipe" : what == lost::socket ? "socket" : "pipe_of_a_program_with_sockets");
}

class stderr_without_reader : public child_test, public testing::WithParamInterface<lost> {
 protected:
  // Called in a child process. A write to standard error raises SIGPIPE, for which the program has chosen no action.
  static void lose_reader() {
    ::signal(SIGPIPE, SIG_DFL);
    int ends[2];
    if ((GetParam() == lost::socket ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : ::pipe(ends)) != 0) ::_exit(8);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  static void run(void (*f)()) {
    lose_reader();
    thrum::run([f] {
      static tcp_listener in_use;
      if (GetParam() == lost::pipe_of_a_program_with_sockets) in_use = tcp_listener::listen("127.0.0.1:0");
      go(f);
      sleep_for(1h);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(all, stderr_without_reader,
                         testing::Values(lost::pipe, lost::pipe_of_a_program_with_sockets, lost::socket),
                         testing::PrintToStringParamName());

TEST_P(stderr_without_reader, a_panic_ends_the_program_with_its_exit_code) {
  EXPECT_EXIT(run([] { throw std::runtime_error("no process reads this"); }), testing::ExitedWithCode(2), "");
}

TEST_P(stderr_without_reader, a_panic_calls_the_on_panic_function) {
  EXPECT_EXIT(
      {
        on_panic([](panic_info const&) { ::_exit(7); });
        run([] { throw std::runtime_error("no process reads this"); });
      },
      testing::ExitedWithCode(7), "");
}

TEST_P(stderr_without_reader, a_fatal_error_ends_the_program_with_its_exit_code) {
  EXPECT_EXIT(run([] { mutex().unlock(); }), testing::ExitedWithCode(2), "");
}

TEST_P(stderr_without_reader, a_fault_ends_the_program_by_its_own_signal) {
  THRUM_SKIP_WITH_SANITIZERS();
  EXPECT_EXIT(run(writes_to_nowhere), testing::KilledBySignal(SIGSEGV), "");
}

TEST_P(stderr_without_reader, terminate_ends_the_program_by_its_own_signal) {
  EXPECT_EXIT(run(std::terminate), testing::KilledBySignal(SIGABRT), "");
}

TEST_P(stderr_without_reader, a_warning_does_not_end_the_program) {
  EXPECT_EXIT(run([] {
                rt::print_error("thrum: only a warning");
                ::_exit(7);
              }),
              testing::ExitedWithCode(7), "");
}

bool is_pending(int signal) {
  sigset_t pending;
  ::sigemptyset(&pending);
  ::sigpending(&pending);
  return ::sigismember(&pending, signal) != 0;
}

TEST_P(stderr_without_reader, a_SIGPIPE_of_the_program_stays_pending_and_no_other_one_does) {
  EXPECT_EXIT(
      {
        lose_reader();
        sigset_t broken_pipe;
        ::sigemptyset(&broken_pipe);
        ::sigaddset(&broken_pipe, SIGPIPE);
        ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
        rt::print_error("lost");
        if (is_pending(SIGPIPE)) ::_exit(9);
        ::raise(SIGPIPE);
        rt::print_error("lost too");
        ::_exit(is_pending(SIGPIPE) ? 7 : 10);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace thrum::test
