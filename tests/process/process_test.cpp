// Other programs: rows PR-01 to PR-07.
#include "support/child.h"
#include "support/dumped.h"
#include "support/goroutines.h"
#include "support/programs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/sockets.h"
#include "support/threads_at_work.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::child_state;
using test::scaled;
using test::shell;
using test::sleeper;
using test::state_of;
using test::wait_until;

class processes : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(processes);

TEST_P(processes, PR01_how_a_child_ended_is_known_as_often_as_one_asks) {
  run([] {
    auto good = process::start({"true"});
    EXPECT_GT(good.id(), 0);
    EXPECT_TRUE(good.wait().ok());
    auto bad = process::start(shell("exit 7"));
    EXPECT_EQ(bad.wait(), exit_status::of_code(7));
    EXPECT_EQ(bad.wait().code(), 7);
    EXPECT_EQ(bad.try_wait(), exit_status::of_code(7));
    EXPECT_EQ(bad.wait_for(0s), exit_status::of_code(7));
    auto killed = process::start(shell("kill -TERM $$"));
    exit_status const how = killed.wait();
    EXPECT_FALSE(how.exited());
    EXPECT_FALSE(how.ok());
    EXPECT_EQ(how.signal(), SIGTERM);
    EXPECT_EQ(how.code(), -1);
  });
}

// Whether a core is written is the machine's choice: what the shell's own end says of the same is to be told.
TEST_P(processes, PR01_whether_a_core_was_written_is_told) {
  auto const directory = std::filesystem::temp_directory_path() / ("thrum_core_" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  run([&] {
    for (std::string const aborts : {"ulimit -c unlimited 2>/dev/null; kill -ABRT $$", "ulimit -c 0; kill -ABRT $$"}) {
      int const status = ::system(("cd " + directory.string() + " && " + aborts).c_str());
      ASSERT_TRUE(WIFSIGNALED(status));
      auto child = process::start(shell(aborts), {.directory = directory});
      EXPECT_EQ(child.wait(), exit_status::of_signal(SIGABRT, WCOREDUMP(status))) << aborts;
    }
    EXPECT_FALSE(process::start(shell("kill -KILL $$")).wait().dumped_core());
  });
  std::filesystem::remove_all(directory);
}

TEST_P(processes, PR01_what_cannot_be_started_is_an_error_of_start) {
  if (test::emulated())
    GTEST_SKIP() << "the emulator forks where the kernel shares memory: the error stays in the child";
  run([] {
    std::error_code error;
    EXPECT_FALSE(process::start({"no-such-program-anywhere"}, {}, error));
    EXPECT_EQ(error, std::errc::no_such_file_or_directory);
    EXPECT_FALSE(process::start({"/no/such/program"}, {.out = stdio::pipe}, error));
    EXPECT_EQ(error, std::errc::no_such_file_or_directory);
    EXPECT_FALSE(process::start({"/proc/self/status"}, {}, error));
    EXPECT_EQ(error, std::errc::permission_denied);
    EXPECT_FALSE(process::start({"true"}, {.directory = "/no/such/place"}, error));
    EXPECT_EQ(error, std::errc::no_such_file_or_directory);
    for (int const closed : {1'000'000, -1, -2}) {
      EXPECT_FALSE(process::start({"true"}, {.out = child_stream(closed)}, error));
      EXPECT_EQ(error, std::errc::bad_file_descriptor);
      EXPECT_EQ(output({"echo", "x"}, {.out = child_stream(closed)}, error).out, "");
      EXPECT_EQ(error, std::errc::bad_file_descriptor);
    }
    for (auto const& command : {std::vector<std::string>{}, {"true", std::string("a\0b", 3)}}) {
      EXPECT_FALSE(process::start(command, {}, error));
      EXPECT_EQ(error, std::errc::invalid_argument);
    }
    EXPECT_THROW(process::start({"no-such-program-anywhere"}), std::system_error);
    process none;
    none.wait(error);
    EXPECT_EQ(error, std::errc::no_child_process);
    none.kill(SIGTERM, error);
    EXPECT_EQ(error, std::errc::no_child_process);
  });
}

TEST_P(processes, PR02_much_goes_through_a_child_in_both_directions_at_once) {
  run([] {
    auto cat = process::start({"cat"}, {.in = stdio::pipe, .out = stdio::pipe});
    EXPECT_FALSE(cat.err().is_open());
    std::string const sent = [] {
      std::string text(static_cast<std::size_t>(scaled(10 << 20, 1 << 20)), '\0');
      for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 7U);
      return text;
    }();
    auto writer = spawn([&] {
      cat.in().write_all(sent);
      cat.in().close();
    });
    std::string got(sent.size() + 1, '\0');
    got.resize(test::read_to_end(cat.out(), got));
    writer.join();
    EXPECT_TRUE(got == sent);
    EXPECT_TRUE(cat.wait().ok());
  });
}

TEST_P(processes, PR02_each_stream_goes_where_it_was_told_to) {
  run([] {
    auto const both = shell("cat; echo out; echo err >&2");
    EXPECT_EQ(output(both).out, "out\n");
    EXPECT_EQ(output(both).err, "err\n");
    EXPECT_EQ(output(both, {.err = stdio::as_output}).out, "out\nerr\n");
    auto const quiet = output(both, {.out = stdio::null});
    EXPECT_EQ(quiet.out, "");
    EXPECT_EQ(quiet.err, "err\n");
    auto ab = test::pipe_pair();
    auto writes = process::start(shell("echo here"), {.out = child_stream(ab.b.native_handle())});
    ab.b.close();
    std::string line(64, '\0');
    line.resize(test::read_to_end(ab.a, line));
    EXPECT_EQ(line, "here\n");
    EXPECT_TRUE(writes.wait().ok());
    EXPECT_TRUE(output(shell("exit 3"), {.in = child_stream(0)}).status.code() == 3);
    auto const its_input = output({"readlink", "/proc/self/fd/0"}, {.in = child_stream(1)});
    EXPECT_EQ(its_input.out, std::filesystem::read_symlink("/proc/self/fd/1").string() + "\n");
  });
}

TEST_P(processes, PR02_streams_can_be_exchanged) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  run([] {
    auto child = process::start(shell("echo out; echo err >&2"),
                                {.in = stdio::null, .out = child_stream(2), .err = child_stream(1)});
    EXPECT_TRUE(child.wait().ok());
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "err\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "out\n");
}

TEST_P(processes, PR02_what_both_streams_write_at_once_is_gathered) {
  run([] {
    auto const bytes = std::to_string(scaled(1 << 20, 1 << 18));
    auto const all =
        output(shell("head -c " + bytes + " /dev/zero & head -c " + bytes + " /dev/zero >&2; wait; exit 5"));
    EXPECT_EQ(all.status.code(), 5);
    EXPECT_EQ(std::to_string(all.out.size()), bytes);
    EXPECT_EQ(std::to_string(all.err.size()), bytes);
  });
}

TEST_P(processes, PR03_environment_and_directory) {
  run([] {
    EXPECT_EQ(output({"pwd"}, {.directory = "/"}).out, "/\n");
    EXPECT_EQ(output({"env"}, {.environment = std::vector<std::string>{"A=1", "B=2"}}).out, "A=1\nB=2\n");
    auto const some =
        output(shell("echo $PATH$THRUM_PROCESS_TEST"), {.extra_environment = {"THRUM_PROCESS_TEST=x", "PATH=/p"}});
    EXPECT_EQ(some.out, "/px\n");
    auto const twice = output({"env"}, {.environment = std::vector<std::string>{"A=1", "B=2", "A=3"},
                                        .extra_environment = {"C=4", "B=5", "C=6"}});
    EXPECT_EQ(twice.out, "A=3\nB=5\nC=6\n");
    EXPECT_EQ(output({"echo", "a b", "", "$HOME"}).out, "a b  $HOME\n");
  });
}

TEST_P(processes, PR04_waiting_ends_with_its_time_or_its_context_and_the_child_goes_on) {
  run([] {
    sleeper child;
    EXPECT_EQ(child.it.try_wait(), std::nullopt);
    EXPECT_EQ(child.it.wait_for(5ms), std::nullopt);
    EXPECT_EQ(child.it.wait_until(clock::now() - 1s), std::nullopt);
    std::error_code error;
    auto const [soon, cancel_soon] = with_timeout(context::background(), 5ms);
    child.it.wait(soon, error);
    EXPECT_EQ(error, std::errc::timed_out);
    auto const pair = with_cancel(context::background());
    auto waiter = spawn([&] {
      std::error_code why;
      child.it.wait(pair.ctx, why);
      return why;
    });
    EXPECT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::io) == 1; }));
    pair.cancel();
    EXPECT_EQ(waiter.join(), std::errc::operation_canceled);
    child.it.wait(pair.ctx, error);
    EXPECT_EQ(error, std::errc::operation_canceled);
    child.it.kill();
    child.it.wait();
    EXPECT_EQ(child.it.wait(pair.ctx, error), exit_status::of_signal(SIGKILL, false));
    EXPECT_FALSE(error);
  });
}

TEST_P(processes, PR04_terminate_asks_first_and_kills_then) {
  run([] {
    sleeper polite;
    EXPECT_EQ(polite.it.terminate(60s), exit_status::of_signal(SIGTERM, false));
    auto stubborn = process::start(shell("trap '' TERM; echo ready; exec sleep 60"), {.out = stdio::pipe});
    std::array<char, 6> ready{};
    EXPECT_EQ(stubborn.out().read_full(ready), ready.size());
    EXPECT_EQ(stubborn.terminate(10ms), exit_status::of_signal(SIGKILL, false));
  });
}

TEST_P(processes, PR04_a_signal_to_a_child_that_has_ended_is_nothing) {
  run([] {
    auto child = process::start({"true"});
    EXPECT_TRUE(
        wait_until([&] { return state_of(child.id()) == child_state::ended; }));  // the child has not been waited for
    child.kill();
    EXPECT_TRUE(child.wait().ok());
    child.kill();
    EXPECT_TRUE(child.terminate(1s).ok());
  });
}

int io_waiters() { return test::waiting_for(rt::wait_reason::io); }

TEST_P(processes, PR05_two_hundred_children_and_their_waiters_cost_no_thread) {
  test::without_slices const uninterrupted;
  run([] {
    constexpr int children = 200;
    std::vector<process> all(children);
    wait_group ended;
    for (process& each : all) each = process::start({"cat"}, {.in = stdio::pipe});
    std::atomic<int> good{0};
    for (process& each : all) {
      ended.go([&] {
        if (each.wait().ok()) ++good;
      });
    }
    EXPECT_TRUE(wait_until([] { return io_waiters() == children; }));
    EXPECT_TRUE(test::few_threads_work(procs() + 4)) << test::threads_at_work();
    for (process& each : all) each.in().close();
    ended.wait();
    EXPECT_EQ(good, children);
  });
}

TEST_P(processes, PR05_many_may_start_and_wait_at_a_time_and_for_the_same_child) {
  run([] {
    wait_group all;
    std::atomic<int> good{0};
    for (int i = 0; i < 20; ++i) {
      all.go([&good, i] {
        auto child = process::start(shell("exit " + std::to_string(i)));
        wait_group waiters;
        for (int j = 0; j < 4; ++j) {
          waiters.go([&] {
            if (child.wait().code() == i) ++good;
          });
        }
        waiters.wait();
      });
    }
    all.wait();
    EXPECT_EQ(good, 80);
  });
}

TEST_P(processes, PR05_a_child_that_was_dropped_is_collected) {
  run([] {
    int const ended = process::start({"true"}).id();
    process lives = process::start({"cat"}, {.in = stdio::pipe});
    int const later = lives.id();
    lives = process();  // it sees the end of its input
    EXPECT_TRUE(wait_until(
        [&] { return state_of(ended) == child_state::none_of_ours && state_of(later) == child_state::none_of_ours; }));
    EXPECT_TRUE(wait_until([] { return num_goroutines() == 1; }));
  });
}

// What this process would hand on.
std::set<std::string> inheritable() {
  std::set<std::string> all{"0", "1", "2"};
  for (auto const& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::string const number = each.path().filename().string();
    int const flags = ::fcntl(std::stoi(number), F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) all.insert(number);
  }
  return all;
}

std::set<std::string> seen_by_a_child(bool close_descriptors) {
  // The shell tests the numbers one by one, because a program that lists the directory has one more descriptor open.
  auto const seen = output(shell("n=0; while [ $n -lt 400 ]; do [ -h /proc/$$/fd/$n ] && echo $n; n=$((n + 1)); done"),
                           {.close_descriptors = close_descriptors});
  std::set<std::string> all;
  for (std::size_t at = 0; at < seen.out.size();) {
    std::size_t const end = seen.out.find('\n', at);
    all.insert(seen.out.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

TEST_P(processes, PR06_children_inherit_the_three_streams_and_nothing_else) {
  run([] {
    auto ab = test::socket_pair();
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto const interrupts = signals(SIGUSR2);
    sleeper other;
    auto piped = process::start({"cat"}, {.in = stdio::pipe, .out = stdio::pipe, .err = stdio::pipe});
    int const careless = ::open("/dev/null", O_RDONLY);
    EXPECT_EQ(seen_by_a_child(true), (std::set<std::string>{"0", "1", "2"}));
    EXPECT_EQ(seen_by_a_child(false), inheritable());
    ::close(careless);
    stop_signals(interrupts);
  });
}

TEST_P(processes, PR06_no_signal_is_blocked_in_a_child_and_SIGPIPE_ends_it) {
  auto* const before = ::signal(SIGPIPE, SIG_IGN);
  run([] {
    os_thread_lock const here;
    sigset_t blocked;
    sigset_t old;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &old);
    auto const about = output({"grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"});
    ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
    EXPECT_NE(about.out.find("SigBlk:\t0000000000000000"), std::string::npos) << about.out;
    auto const at = about.out.find("SigIgn:\t");
    ASSERT_NE(at, std::string::npos) << about.out;
    EXPECT_EQ(std::stoull(about.out.substr(at + 8), nullptr, 16) >> (SIGPIPE - 1) & 1U, 0U) << about.out;
  });
  ::signal(SIGPIPE, before);
}

TEST_P(processes, PR07_a_goroutine_that_waits_for_a_child_is_named_in_a_dump) {
  run([] {
    sleeper child;
    auto waiter = spawn([&] {
      this_goroutine::set_name("nurse");
      return child.it.wait();
    });
    EXPECT_TRUE(wait_until([] { return io_waiters() == 1; }));
    std::string const all = test::dumped();
    child.it.kill();
    waiter.join();
    EXPECT_NE(all.find("[waiting: IO wait] nurse:"), std::string::npos) << all;
  });
}

TEST_P(processes, PR07_output_with_a_context_that_is_done_kills_the_child) {
  run([] {
    int ends[2]{};
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    // A child of the child keeps the pipes open until the end of this test.
    auto const signal_after = [&](std::chrono::milliseconds long_enough) {
      auto const [soon, cancel] = with_timeout(context::background(), long_enough);
      std::error_code error;
      auto const got = output(soon, shell("cat <&0 & exec sleep 60"), {.in = child_stream(ends[0])}, error);
      EXPECT_EQ(error, std::errc::timed_out);
      return got.status.signal();
    };
    int signal = signal_after(10ms);
    if (signal == 0) signal = signal_after(1s);  // the time was over before there was a child
    EXPECT_EQ(signal, SIGKILL);
    ::close(ends[0]);
    ::close(ends[1]);
    EXPECT_EQ(output(context::background(), {"echo", "x"}).out, "x\n");
  });
}

TEST_P(processes, PR07_output_with_a_context_that_was_done_before_starts_nothing) {
  run([] {
    auto ab = test::pipe_pair();
    auto const [ctx, cancel] = with_cancel(context::background());
    cancel();
    std::error_code error;
    static_cast<void>(output(ctx, {"echo", "x"}, {.out = child_stream(ab.b.native_handle())}, error));
    EXPECT_EQ(error, std::errc::operation_canceled);
    ab.b.close();
    std::array<char, 1> byte{};
    EXPECT_EQ(ab.a.read_some(byte), 0U);  // no process wrote
  });
}

}  // namespace
}  // namespace thrum
