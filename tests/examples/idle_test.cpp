// A program that has nothing to do makes no system call: seen from outside, by strace.
#include "base/platform.h"
#include "support/child.h"
#include "support/server_process.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

// By the clock that strace writes down.
double seconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

class scratch_file {
 public:
  scratch_file() {
    std::string name = testing::TempDir() + "thrum_strace_XXXXXX";
    if (int const file = ::mkstemp(name.data()); file >= 0) ::close(file);
    path_ = name;
  }
  ~scratch_file() { std::filesystem::remove(path_); }
  scratch_file(scratch_file const&) = delete;
  scratch_file& operator=(scratch_file const&) = delete;

  [[nodiscard]] std::string path() const { return path_; }
  [[nodiscard]] std::string text() const {
    std::stringstream all;
    all << std::ifstream(path_).rdbuf();
    return all.str();
  }

 private:
  std::string path_;
};

struct window {
  double from;
  double to;
};

// Lines of a trace: "THREAD SECONDS CALL". What began before, and lasts, is none.
std::vector<std::string> calls_in(std::string const& trace, window const& w) {
  std::vector<std::string> calls;
  std::istringstream lines(trace);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    int thread = 0;
    double when = 0;
    if (words >> thread >> when && when > w.from && when < w.to) calls.push_back(line);
  }
  return calls;
}

class idle_programs : public testing::TestWithParam<char const*> {};
INSTANTIATE_TEST_SUITE_P(at, idle_programs, testing::Values("1", "2", "8"),
                         [](auto const& procs) { return "P" + std::string(procs.param); });

// A server has a client that sends something now and then. In between the server makes no system call. A busy machine
// may keep a thread from going to rest, so only one of many idle intervals has to be without a call.
TEST_P(idle_programs, S25_make_no_system_call_between_events) {
  auto const echo = thrum::test::this_program().parent_path() / "example_echo";
  if (!std::filesystem::exists(echo)) GTEST_SKIP() << echo << " was not built";
  if (thrum::rt::with_asan || thrum::rt::with_tsan)
    GTEST_SKIP() << "sanitizers have threads, and a tracer, of their own";
  if (thrum::test::emulated()) GTEST_SKIP() << "what is traced is the emulator";
  if (thrum::test::run_shell("strace -f -o /dev/null true").code != 0) GTEST_SKIP() << "no strace, or no permission to";
  constexpr int times_max = 20;
  scratch_file const log;
  window idle{};
  std::vector<std::string> calls;
  {
    // -D: the program is the child, and strace its grandchild.
    thrum::test::server_process server(
        "/usr/bin/env", {"THRUM_MAXPROCS=" + std::string(GetParam()), "THRUM_DEBUG=", "strace", "-D", "-f", "-ttt",
                         "-o", log.path(), echo.string(), "--serve", "127.0.0.1:0"});
    ASSERT_NE(server.port(), 0) << server.said();
    thrum::run([&] {
      auto client = thrum::tcp_conn::dial("127.0.0.1:" + std::to_string(server.port()));
      auto const ask = [&] {
        char byte = 'x';
        client.write_all({&byte, 1});
        EXPECT_EQ(client.read_some({&byte, 1}), 1U);
      };
      ask();
      int times = 0;
      do {
        thrum::sleep_for(300ms);  // it lies down, as a rule
        idle.from = seconds_now();
        thrum::sleep_for(700ms);
        idle.to = seconds_now();
        ask();  // a call that has not returned is written to the log when another thread makes a call
        calls = calls_in(log.text(), idle);
      } while (!calls.empty() && ++times < times_max);
    });
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0);
  }
  ASSERT_TRUE(thrum::test::wait_until([&] { return log.text().find("+++ exited with 0 +++") != std::string::npos; }));
  std::string const trace = log.text();
  EXPECT_GT(calls_in(trace, {0, idle.to}).size(), 10U) << "nothing was traced";
  calls = calls_in(trace, idle);
  EXPECT_TRUE(calls.empty()) << calls.size() << " calls, the first of them: " << calls.front();
}

}  // namespace
