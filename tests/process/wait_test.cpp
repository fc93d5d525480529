// Waiting for child processes in special cases: while a debugger delays the child's end, outside of a run, across runs,
// with other clocks, and without standard streams (rows PR-04, PR-06).
#include "os/fault.h"
#include "support/child_test.h"
#include "support/programs.h"
#include "support/run_at.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::shell;
using test::sleeper;
using test::wait_until;

class process_waits : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(process_waits);

// Another process that traces one, and holds its end back until it is let go.
class debugger {
 public:
  explicit debugger(int traced) : orders_(test::pipe_pair()), answers_(test::pipe_pair()) {
    int const from = orders_.a.native_handle();
    int const to = answers_.b.native_handle();
    id_ = ::fork();
    if (id_ == 0) {                                   // nothing but system calls
      for (int number = 3; number < 400; ++number) {  // not to hold pipes open whose end is waited for
        if (number != from && number != to) ::close(number);
      }
      char byte = ::ptrace(PTRACE_SEIZE, traced, nullptr, nullptr) == 0 ? 'y' : 'n';
      static_cast<void>(!::write(to, &byte, 1));
      while (::read(from, &byte, 1) < 0) ::usleep(1000);  // the descriptor does not block
      ::_exit(0);
    }
    std::array<char, 1> byte{};
    has_it_ = answers_.a.read_some(byte) == 1 && byte[0] == 'y';
  }
  ~debugger() { let_go(); }
  debugger(debugger const&) = delete;
  debugger& operator=(debugger const&) = delete;

  [[nodiscard]] bool has_it() const { return has_it_; }
  void let_go() {
    if (id_ <= 0) return;
    orders_.b.close();
    blocking([this] { ::waitpid(id_, nullptr, 0); });
    id_ = 0;
  }

 private:
  test::pair_of_fds orders_;
  test::pair_of_fds answers_;
  int id_ = 0;
  bool has_it_ = false;
};

bool is_zombie(int id) {
  auto const about = output({"cat", "/proc/" + std::to_string(id) + "/status"});
  return about.out.find("State:\tZ") != std::string::npos;
}

TEST_P(process_waits, PR04_an_end_that_a_debugger_holds_back_is_waited_for) {
  run([] {
    auto child = process::start(shell("read line; exit 7"), {.in = stdio::pipe});
    debugger holds(child.id());
    if (!holds.has_it()) GTEST_SKIP() << "may not trace";
    child.in().close();
    ASSERT_TRUE(wait_until([&] { return is_zombie(child.id()); }));
    std::error_code error;
    EXPECT_EQ(child.try_wait(error), std::nullopt);
    EXPECT_EQ(child.wait_for(1ms, error), std::nullopt);
    EXPECT_FALSE(error);
    child.wait(with_timeout(context::background(), 1ms).ctx, error);
    EXPECT_EQ(error, std::errc::timed_out);
    auto waiter = spawn([&] { return child.wait(); });
    auto limited = spawn([&] { return child.wait_for(60s); });
    auto with_context = spawn([&] { return child.wait(context::background()); });
    EXPECT_FALSE(waiter.join_for(2ms));
    EXPECT_FALSE(limited.join_for(2ms));
    EXPECT_FALSE(with_context.join_for(2ms));
    holds.let_go();
    EXPECT_EQ(waiter.join().code(), 7);
    EXPECT_EQ(limited.join()->code(), 7);
    EXPECT_EQ(with_context.join().code(), 7);
  });
}

// A clock that runs at half the speed of the real one.
struct slow_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<slow_clock>;
  static time_point now() { return time_point(clock::now().time_since_epoch() / 2); }
};

TEST_P(process_waits, PR04_a_limit_by_another_clock_is_not_over_before_that_clock_says_so) {
  run([] {
    sleeper child;
    auto const when = slow_clock::now() + 5ms;
    EXPECT_EQ(child.it.wait_until(when), std::nullopt);
    EXPECT_GE(slow_clock::now(), when);
  });
}

TEST(process_outside, PR04_start_wait_and_kill_work_outside_a_run) {
  std::error_code error;
  auto child = process::start({"sleep", "60"}, {}, error);
  EXPECT_FALSE(error);
  EXPECT_EQ(child.wait_for(1ms), std::nullopt);
  auto const done = with_cancel(context::background());
  done.cancel();
  child.wait(done.ctx, error);
  EXPECT_EQ(error, std::errc::operation_canceled);
  child.kill();
  EXPECT_EQ(child.wait(), exit_status::of_signal(SIGKILL, false));
  EXPECT_EQ(process::start(shell("exit 5")).wait(context::background()).code(), 5);
  EXPECT_EQ(process::start(shell("exit 6")).wait_for(60s)->code(), 6);
}

TEST(process_outside, PR04_output_needs_a_run_and_starts_nothing_without) {
  rt::os::count_calls();
  std::error_code error;
  EXPECT_THROW(static_cast<void>(output({"true"}, {}, error)), std::logic_error);
  EXPECT_EQ(rt::os::calls_made(rt::os::call::spawn), 0U);
  rt::os::clear_faults();
}

TEST_P(process_waits, PR04_a_child_may_outlive_the_run_that_started_it) {
  process child;
  run([&] {
    child = process::start({"cat"}, {.in = stdio::pipe});
    go([&] { child.wait(); });
    go([&] { child.wait_for(60s); });
    go([&] { child.wait(context::background()); });
    yield();
  });
  run([&] {
    EXPECT_EQ(child.wait_for(1ms), std::nullopt);
    child.in().close();
    EXPECT_TRUE(child.wait().ok());
  });
  EXPECT_TRUE(child.wait().ok());
}

TEST_P(process_waits, PR04_threads_that_are_no_goroutines_start_and_wait) {
  run([] {
    int code = 0;
    std::string text;
    std::thread foreign([&] {
      code = process::start(shell("exit 4")).wait().code();
      text = output({"echo", "x"}).out;
    });
    blocking([&] { foreign.join(); });
    EXPECT_EQ(code, 4);
    EXPECT_EQ(text, "x\n");
  });
}

class process_streams : public test::child_test {};

TEST_F(process_streams, PR06_pipes_find_their_places_where_this_program_has_no_standard_streams) {
  auto const child = [] {
    for (int const number : {0, 1, 2}) ::close(number);
    run([] {
      auto const both = output(shell("cat; echo out; echo err >&2"));
      if (both.out != "out\n" || both.err != "err\n") std::_Exit(1);
      if (output(shell("echo out; echo err >&2"), {.err = stdio::as_output}).out != "out\nerr\n") std::_Exit(2);
    });
    std::_Exit(0);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace thrum
