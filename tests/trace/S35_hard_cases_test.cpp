// Traces in hard cases (S35): signal handlers, children of fork, ends at the same moment, and a busy program that dies.
#include "os/fault.h"
#include "os/thread.h"
#include "support/child_test.h"
#include "support/run_at.h"
#include "trace/recorded.h"
#include <thrum/thrum.h>
#include <thrum/trace.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::expect_sound;
using test::file_for_trace;
using test::run_at;

// Two goroutines that wake each other until `ends`.
void keep_switching(std::atomic<bool> const& ends) {
  chan<int> to;
  chan<int> from;
  go([=] {
    for (int n : to) from.send(n);
  });
  while (!ends) {
    to.send(1);
    EXPECT_EQ(1, from.recv());
  }
  to.close();
}

// A file that does not open for writing until the test opens it for reading.
class slow_file {
 public:
  slow_file() {
    ::unlink(name().c_str());
    EXPECT_EQ(0, ::mkfifo(name().c_str(), 0600));
  }
  slow_file(slow_file const&) = delete;
  slow_file& operator=(slow_file const&) = delete;
  ~slow_file() {
    if (reader_ >= 0) ::close(reader_);
  }
  [[nodiscard]] std::string const& name() const { return file_.name(); }
  void let_it_open() { reader_ = ::open(name().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }

 private:
  file_for_trace file_;
  int reader_ = -1;
};

// --- signal handlers ---

// Sends a signal to the calling thread every few microseconds, wherever it is in its code.
class signals_at_random_places {
 public:
  signals_at_random_places(int signal, void (*handler)(int)) : signal_(signal) {
    struct sigaction chosen {};
    chosen.sa_handler = handler;
    chosen.sa_flags = SA_ONSTACK | SA_RESTART;
    ::sigaction(signal, &chosen, &before_);
    sigevent how{};
    how.sigev_notify = SIGEV_THREAD_ID;
    how.sigev_signo = signal;
    how._sigev_un._tid = rt::os::current_tid();
    EXPECT_EQ(0, ::timer_create(CLOCK_MONOTONIC, &how, &timer_));
    constexpr long apart_ns = 30'000;
    itimerspec const times{{0, apart_ns}, {0, apart_ns}};
    EXPECT_EQ(0, ::timer_settime(timer_, 0, &times, nullptr));
  }
  ~signals_at_random_places() {
    ::timer_delete(timer_);
    ::sigaction(signal_, &before_, nullptr);
  }
  signals_at_random_places(signals_at_random_places const&) = delete;
  signals_at_random_places& operator=(signals_at_random_places const&) = delete;

 private:
  int signal_;
  timer_t timer_{};
  struct sigaction before_ {};
};

std::atomic<int> times_handled{0};

TEST(traces_in_handlers, S35_a_signal_handler_may_log) {
  file_for_trace const file;
  run_at(1, [&] {
    trace::start(file.name());
    lock_os_thread();  // so that main runs on the thread to which the signals go
    times_handled = 0;
    chan<int> to;
    chan<int> from;
    go([=] {
      for (int n : to) from.send(n);
    });
    {
      signals_at_random_places const meanwhile(SIGUSR1, [](int) {
        trace::log("in the handler");
        ++times_handled;
      });
      while (times_handled < 1000) {
        to.send(1);
        EXPECT_EQ(1, from.recv());
        for (int i = 0; i < 20; ++i) trace::log("of main");
      }
    }
    to.close();
    unlock_os_thread();
    trace::stop();
  });
  auto const made = file.read();
  expect_sound(made);
  auto const texts = test::logged(made);
  EXPECT_NE(0, std::count(texts.begin(), texts.end(), "in the handler"));
}

// --- other processes and other runs ---

TEST(traces_beside_fork, S35_a_child_of_fork_has_no_trace) {
  file_for_trace const file;
  int status = -1;
  run_at(2, [&] {
    trace::start(file.name());
    blocking([&] {
      pid_t const child = ::fork();
      if (child == 0) {
        trace::region const in_child("of the child");
        trace::log("of the child");
        ::_exit(trace::is_on() ? 1 : 0);
      }
      ::waitpid(child, &status, 0);
    });
    trace::log("of the parent");
    trace::stop();
  });
  EXPECT_EQ(0, status);
  auto const made = file.read();
  expect_sound(made);
  EXPECT_EQ(std::vector<std::string>{"of the parent"}, test::logged(made));
}

TEST(ends_of_traces, S35_a_run_that_ends_while_a_goroutine_stops_the_trace_leaves_a_whole_file) {
  // The run may leave the goroutine behind when the file is whole and the thread that has written it is not joined yet.
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer reports a thread that is not joined";
  file_for_trace const file;
  run_at(2, [&] {
    trace::start(file.name());
    trace::log("before the end");
    // The last write takes some 20 ms. On a busy machine and with a sanitizer it still takes less than the ten seconds
    // for which the end of a run waits.
    rt::os::inject_fault(rt::os::call::send, EINTR, 0, 4'000'000);
    go([] { trace::stop(); });
    while (trace::is_on()) thrum::yield();
  });
  rt::os::clear_faults();
  auto const made = file.read();
  expect_sound(made);
  EXPECT_EQ(std::vector<std::string>{"before the end"}, test::logged(made));
}

// --- snapshots ---

TEST(recorders_in_hard_cases, S35_a_recorder_can_be_stopped_while_a_snapshot_is_written) {
  slow_file slow;
  file_for_trace const file;
  run_at(2, [&] {
    trace::start_recorder();
    std::atomic<int> error{0};
    wait_group written;
    written.go([&] {
      while (error == 0) {
        try {
          trace::snapshot(slow.name());
        } catch (std::system_error const& e) {
          error = e.code().value();
        } catch (std::logic_error const&) {
          thrum::yield();  // the snapshot with which main looks whether this one has begun
        }
      }
    });
    auto const is_refused = [&] {
      try {
        trace::snapshot(file.name());
        return false;
      } catch (std::logic_error const&) {  // another snapshot is being written
        return true;
      }
    };
    while (!is_refused()) thrum::yield();
    EXPECT_TRUE(trace::stop_recorder());
    EXPECT_FALSE(trace::is_on());
    EXPECT_FALSE(trace::stop_recorder());
    EXPECT_THROW(trace::start_recorder(), std::logic_error) << "the snapshot needs the memory";
    slow.let_it_open();
    written.wait();
    EXPECT_EQ(ESPIPE, error);  // a trace is written at positions of the file
    trace::start_recorder();
    trace::log("of the second recorder");
    trace::snapshot(file.name());
    EXPECT_TRUE(trace::stop_recorder());
  });
  auto const made = file.read();
  expect_sound(made);
  EXPECT_EQ(std::vector<std::string>{"of the second recorder"}, test::logged(made));
}

TEST(recorders_in_hard_cases, S35_has_room_for_every_p_however_little_memory_is_asked_for) {
  file_for_trace const file;
  run_at(64, [&] {
    trace::start_recorder({.bytes = 1});
    std::atomic<int> running{0};
    wait_group all;
    for (int i = 0; i < 63; ++i) {
      all.go([&] {  // on a P of its own
        ++running;
        while (running < 63) rt::os::yield_thread();
        trace::log("on a P");
      });
    }
    all.wait();
    trace::snapshot(file.name());
    trace::stop_recorder();
  });
  auto const made = file.read();
  expect_sound(made);
  EXPECT_EQ(0U, made.file.lost_events);
  EXPECT_EQ(63U, test::logged(made).size());
}

class busy_programs : public test::child_test {};

TEST_F(busy_programs, S35_a_panic_in_a_busy_program_writes_a_sound_file) {
  file_for_trace const file;
  EXPECT_EXIT(run_at(4,
                     [&] {
                       trace::start_recorder({.bytes = 1, .file_at_death = file.name()});
                       std::atomic<bool> const never{false};
                       for (int i = 0; i < 4; ++i) go([&] { keep_switching(never); });
                       sleep_for(50ms);
                       go([] { throw std::runtime_error("boom"); });
                       sleep_for(1h);
                     }),
              testing::ExitedWithCode(2), "boom");
  auto const made = file.read();
  expect_sound(made);
  EXPECT_FALSE(made.merged.events.empty());
}

}  // namespace
}  // namespace thrum
