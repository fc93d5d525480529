// Starting and stopping traces, the environment variable, and the flight recorder (S35).
#include "os/files.h"
#include "support/child_test.h"
#include "support/leak_checks.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include "support/with_environment.h"
#include "trace/recorded.h"
#include <thrum/thrum.h>
#include <thrum/trace.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::expect_sound;
using test::file_for_trace;
using test::run_at;

void wake_each_other(int times) {
  chan<int> to;
  chan<int> from;
  go([=] {
    for (int n : to) from.send(n);
    from.close();
  });
  for (int i = 0; i < times; ++i) {
    to.send(i);
    EXPECT_EQ(i, from.recv());
  }
  to.close();
  EXPECT_EQ(std::nullopt, from.recv());
}

class traces_at : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(traces_at);

TEST_P(traces_at, S35_several_traces_one_after_another) {
  file_for_trace const first;
  file_for_trace const second;
  run([&] {
    go([] { sleep_for(1h); });  // exists before the traces, and without a record in them
    for (file_for_trace const* const file : {&first, &second, &first, &second}) {
      trace::start(file->name());
      EXPECT_TRUE(trace::is_on());
      trace::log(file == &first ? "first" : "second");
      wake_each_other(2000);
      EXPECT_TRUE(trace::stop());
      EXPECT_FALSE(trace::is_on());
      wake_each_other(2000);
    }
  });
  for (file_for_trace const* const file : {&first, &second}) {
    auto const made = file->read();
    expect_sound(made);
    EXPECT_EQ(0U, made.file.lost_events);
    EXPECT_EQ(std::vector<std::string>{file == &first ? "first" : "second"}, test::logged(made));
  }
}

TEST_P(traces_at, S35_a_trace_may_begin_and_end_while_goroutines_run) {
  file_for_trace const file;
  run([&] {
    std::atomic<bool> ends{false};
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&] {
        while (!ends) wake_each_other(50);
      });
    }
    for (int i = 0; i < 5; ++i) {
      trace::start(file.name());
      wake_each_other(500);
      trace::stop();
    }
    ends = true;
    all.wait();
  });
  auto const made = file.read();
  expect_sound(made);
}

TEST(trace_errors, S35_names_the_file_that_cannot_be_opened) {
  run_at(1, [] {
    try {
      trace::start("/nonexistent/folder/file");
      ADD_FAILURE() << "it was opened";
    } catch (std::system_error const& e) {
      EXPECT_EQ(ENOENT, e.code().value());
      EXPECT_NE(std::string::npos, std::string(e.what()).find("/nonexistent/folder/file")) << e.what();
    }
    EXPECT_FALSE(trace::is_on());
    EXPECT_FALSE(trace::stop());
  });
}

TEST(trace_errors, S35_a_full_disk_is_an_error_of_stop) {
  run_at(1, [] {
    trace::start("/dev/full");
    wake_each_other(100);
    EXPECT_THROW(trace::stop(), std::system_error);
    EXPECT_FALSE(trace::is_on());
  });
}

TEST(trace_errors, S35_two_traces_at_a_time_are_refused) {
  file_for_trace const file;
  file_for_trace const other;
  run_at(1, [&] {
    trace::start(file.name());
    EXPECT_THROW(trace::start(other.name()), std::logic_error);
    EXPECT_THROW(trace::start_recorder(), std::logic_error);
    EXPECT_TRUE(trace::stop());
    trace::start_recorder();
    EXPECT_THROW(trace::start(other.name()), std::logic_error);
    EXPECT_TRUE(trace::stop_recorder());
    EXPECT_FALSE(trace::stop_recorder());
    EXPECT_THROW(trace::snapshot(other.name()), std::logic_error);
  });
  expect_sound(file.read());
}

TEST(trace_errors, S35_without_a_run) {
  EXPECT_THROW(trace::start("never"), std::logic_error);
  EXPECT_THROW(trace::start_recorder(), std::logic_error);
  EXPECT_FALSE(trace::stop());
  EXPECT_FALSE(trace::is_on());
  trace::log("nowhere");
  EXPECT_THROW(run_at(1, [] { trace::start(std::string("a\0b", 3)); }), std::system_error);
}

TEST(traces_of_threads, S35_a_thread_from_outside_starts_and_stops) {
  file_for_trace const file;
  run_at(2, [&] {
    chan<int> done;
    std::thread outside([&, done] {
      trace::start(file.name());
      go([done] { done.send(1); });
    });
    EXPECT_EQ(1, done.recv());
    outside.join();
    std::thread([] { EXPECT_TRUE(trace::stop()); }).join();
  });
  expect_sound(file.read());
}

TEST(traces_of_runs, S35_the_end_of_the_run_ends_the_trace) {
  file_for_trace const file;
  run_at(2, [&] {
    trace::start(file.name());
    trace::log("left on");
  });
  auto const made = file.read();
  expect_sound(made);
  EXPECT_EQ(std::vector<std::string>{"left on"}, test::logged(made));
}

class traces_of_programs : public test::child_test {};

TEST_F(traces_of_programs, S35_the_environment_asks_for_a_trace_of_each_run) {
  file_for_trace const file;
  test::with_environment const meanwhile("THRUM_TRACE", file.name());
  EXPECT_EXIT(
      {
        run_at(1, [] { trace::log("run 1"); });
        run_at(1, [] { trace::log("run 2"); });
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EQ(std::vector<std::string>{"run 1"}, test::logged(file.read()));
  auto const second = command::analyse(command::read_trace_file(file.name() + ".2"));
  EXPECT_EQ(std::vector<std::string>{"run 2"}, test::logged(second));
}

// Another process that writes to the file, as the parent of a traced program does.
class other_writer {
 public:
  explicit other_writer(std::string const& file) {
    int lines[2];
    if (::pipe(lines) != 0) return;
    process_ = ::fork();
    if (process_ != 0) {
      ::close(lines[1]);
      char is_ready = 0;
      EXPECT_EQ(1, ::read(lines[0], &is_ready, 1));
      ::close(lines[0]);
      return;
    }
    if (rt::os::open_to_write_alone(file.c_str(), 0644) >= 0) static_cast<void>(::write(lines[1], "x", 1));
    for (;;) ::pause();
  }
  ~other_writer() {
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  other_writer(other_writer const&) = delete;
  other_writer& operator=(other_writer const&) = delete;

 private:
  pid_t process_ = -1;
};

TEST_F(traces_of_programs, S35_a_program_whose_parent_writes_the_file_takes_another_name) {
  file_for_trace const file;
  test::with_environment const meanwhile("THRUM_TRACE", file.name());
  std::optional<other_writer> parent;
  if (!testing::internal::InDeathTestChild()) parent.emplace(file.name());
  EXPECT_EXIT(
      {
        run_at(1, [&] {
          trace::log("the child's");
          EXPECT_THROW(trace::start(file.name()), std::logic_error) << "a trace is being written";
        });
        std::fprintf(stderr, "process %d ", static_cast<int>(::getpid()));
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "process [0-9]+ ");
  EXPECT_EQ(0U, std::filesystem::file_size(file.name())) << "it belongs to the parent";
  std::vector<std::string> others;
  std::filesystem::path const path(file.name());
  for (auto const& each : std::filesystem::directory_iterator(path.parent_path())) {
    if (each.path().string().starts_with(file.name() + ".")) others.push_back(each.path().string());
  }
  ASSERT_EQ(1U, others.size());
  EXPECT_EQ(std::vector<std::string>{"the child's"},
            test::logged(command::analyse(command::read_trace_file(others[0]))));
  std::filesystem::remove(others[0]);
}

TEST_F(traces_of_programs, S35_start_refuses_a_file_that_another_process_writes) {
  file_for_trace const file;
  other_writer const other(file.name());
  run_at(1, [&] {
    try {
      trace::start(file.name());
      ADD_FAILURE() << "it was opened";
    } catch (std::system_error const& e) {
      EXPECT_EQ(EBUSY, e.code().value());
    }
  });
}

TEST_F(traces_of_programs, S35_the_name_may_have_the_number_of_the_process) {
  file_for_trace const file;
  test::with_environment const meanwhile("THRUM_TRACE", file.name() + "-%p-100%%-%x");
  std::filesystem::path const path(file.name());
  EXPECT_EXIT(
      {
        run_at(1, [] {});
        std::string const name = file.name() + "-" + std::to_string(::getpid()) + "-100%-%x";
        std::_Exit(std::filesystem::exists(name) && std::filesystem::remove(name) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(traces_of_programs, S35_a_signal_begins_and_ends_traces) {
  file_for_trace const file;
  test::with_environment const path("THRUM_TRACE", file.name());
  test::with_environment const signal("THRUM_TRACE_SIGNAL", "SIGUSR2");
  EXPECT_EXIT(
      {
        int failures = 0;
        auto const ask_until = [&](bool on) {
          ::kill(::getpid(), SIGUSR2);
          if (!test::wait_until([=] { return trace::is_on() == on; })) ++failures;
        };
        run_at(2, [&] {
          if (trace::is_on()) ++failures;
          trace::log("before");
          ask_until(true);
          trace::log("one");
          ask_until(false);
          trace::log("between");
          ask_until(true);
          trace::log("two");
        });
        std::_Exit(failures);
      },
      testing::ExitedWithCode(0), "");
  auto const first = file.read();
  expect_sound(first);
  EXPECT_EQ(std::vector<std::string>{"one"}, test::logged(first));
  auto const second = command::analyse(command::read_trace_file(file.name() + ".2"));
  expect_sound(second);
  EXPECT_EQ(std::vector<std::string>{"two"}, test::logged(second));
}

TEST_F(traces_of_programs, S35_a_signal_that_is_none_or_that_the_program_handles_is_refused) {
  auto const error_of_run = [] {
    try {
      run_at(1, [] {});
    } catch (std::exception const& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  {
    test::with_environment const meanwhile("THRUM_TRACE_SIGNAL", "NONE");
    EXPECT_NE(std::string::npos, error_of_run().find("THRUM_TRACE_SIGNAL=NONE is no signal")) << error_of_run();
  }
  test::with_environment const meanwhile("THRUM_TRACE_SIGNAL", std::to_string(SIGUSR1));
  auto const before = ::signal(SIGUSR1, [](int) {});
  EXPECT_NE(std::string::npos, error_of_run().find("the program has an action of its own for signal"));
  ::signal(SIGUSR1, before);
  EXPECT_EQ("none", error_of_run());
}

TEST_F(traces_of_programs, S35_a_file_that_the_environment_names_and_that_cannot_be_opened_ends_the_run) {
  test::with_environment const meanwhile("THRUM_TRACE", "/nonexistent/file");
  EXPECT_EXIT(
      {
        try {
          run_at(1, [] {});
        } catch (std::system_error const& e) {
          std::fputs(e.what(), stderr);
          std::_Exit(3);
        }
      },
      testing::ExitedWithCode(3), "THRUM_TRACE: open /nonexistent/file");
}

TEST_F(traces_of_programs, S35_exit_on_a_goroutine_ends_the_trace) {
  file_for_trace const file;
  EXPECT_EXIT(run_at(2,
                     [&] {
                       test::do_not_look_for_leaks();
                       trace::start(file.name());
                       trace::log("before exit");
                       std::exit(5);
                     }),
              testing::ExitedWithCode(5), "");
  auto const made = file.read();
  expect_sound(made);
  EXPECT_EQ(std::vector<std::string>{"before exit"}, test::logged(made));
}

TEST_F(traces_of_programs, S35_a_trace_that_a_panic_cuts_off_can_be_read_up_to_there) {
  file_for_trace const file;
  EXPECT_EXIT(run_at(2,
                     [&] {
                       trace::start(file.name());
                       wake_each_other(1000);
                       trace::log("before the panic");
                       go([] { throw std::runtime_error("boom"); });
                       sleep_for(1h);
                     }),
              testing::ExitedWithCode(2), "boom");
  auto const made = file.read();
  EXPECT_EQ("", test::violations_of(made));
  EXPECT_FALSE(made.file.has_end);
  EXPECT_EQ(std::vector<std::string>{"before the panic"}, test::logged(made));
}

class recorders : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(recorders);

TEST_P(recorders, S35_a_snapshot_has_the_latest_events_and_not_more_than_its_memory) {
  file_for_trace const file;
  constexpr std::size_t bytes = 6'000'000;  // more than the least for 64 Ps
  run([&] {
    trace::start_recorder({.bytes = bytes});
    for (int i = 0; i < 3; ++i) {
      wake_each_other(40'000);
      trace::log("round " + std::to_string(i));
      trace::snapshot(file.name());
    }
    EXPECT_TRUE(trace::stop_recorder());
  });
  auto const made = file.read();
  expect_sound(made);
  EXPECT_TRUE(made.file.header.is_flight_record);
  auto const texts = test::logged(made);
  ASSERT_FALSE(texts.empty());
  EXPECT_EQ("round 2", texts.back());
  EXPECT_LE(std::filesystem::file_size(file.name()), 2 * bytes);
  EXPECT_GT(made.file.records, 1000U);
}

TEST_P(recorders, S35_snapshots_for_a_condition_that_holds_often_are_some_time_apart) {
  file_for_trace const file;
  run([&] {
    EXPECT_FALSE(trace::snapshot_at_times(file.name())) << "the recorder is off";
    trace::start_recorder();
    std::atomic<int> written{0};
    wait_group all;
    for (int i = 0; i < 20; ++i) {
      all.go([&] {
        for (int round = 0; round < 10; ++round) written += trace::snapshot_at_times(file.name(), 1h) ? 1 : 0;
      });
    }
    all.wait();
    EXPECT_EQ(1, written);
    EXPECT_TRUE(trace::snapshot_at_times(file.name(), 0ns));
    trace::snapshot(file.name());
    EXPECT_FALSE(trace::snapshot_at_times(file.name(), 1h)) << "also after a plain snapshot";
    EXPECT_THROW(trace::snapshot_at_times("/nonexistent/file", 0ns), std::system_error);
    EXPECT_TRUE(trace::stop_recorder());
    trace::start_recorder();
    EXPECT_TRUE(trace::snapshot_at_times(file.name(), 1h)) << "the first one of this recorder";
    EXPECT_TRUE(trace::stop_recorder());
  });
  expect_sound(file.read());
}

class recorders_of_programs : public test::child_test {};

TEST_F(recorders_of_programs, S35_a_panic_writes_the_file) {
  file_for_trace const file;
  EXPECT_EXIT(run_at(2,
                     [&] {
                       trace::start_recorder({.file_at_death = file.name()});
                       trace::log("before the panic");
                       go([] { throw std::runtime_error("boom"); });
                       sleep_for(1h);
                     }),
              testing::ExitedWithCode(2), "boom");
  auto const made = file.read();
  EXPECT_EQ("", test::violations_of(made));
  EXPECT_EQ(std::vector<std::string>{"before the panic"}, test::logged(made));
}

TEST_F(recorders_of_programs, S35_a_deadlock_writes_the_file) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  file_for_trace const file;
  EXPECT_EXIT(run_at(2,
                     [&] {
                       trace::start_recorder({.file_at_death = file.name()});
                       trace::log("before the deadlock");
                       std::ignore = chan<int>().recv();
                     }),
              testing::ExitedWithCode(2), "deadlock");
  auto const made = file.read();
  EXPECT_EQ("", test::violations_of(made));
  EXPECT_EQ(std::vector<std::string>{"before the deadlock"}, test::logged(made));
}

}  // namespace
}  // namespace thrum
