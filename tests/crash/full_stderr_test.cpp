// A reader of standard error that does not read. Reports of sysmon's own thread (sys/report_text.h) do not wait for it,
// and all other reports (base/check.h) wait for a limited time, so a program that is to end with a report ends.
#include "base/check.h"
#include "base/platform.h"
#include "core/current.h"
#include "core/sched.h"
#include "crash/crasher.h"
#include "os/lock.h"
#include "support/child_test.h"
#include "support/wait_until.h"
#include "sys/report_text.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

// Standard error is a pipe as long as this lives.
class piped_stderr {
 public:
  piped_stderr() {
    EXPECT_EQ(::pipe2(ends_, O_NONBLOCK), 0);
    EXPECT_EQ(::dup2(ends_[1], STDERR_FILENO), STDERR_FILENO);
  }
  ~piped_stderr() {
    EXPECT_EQ(::dup2(before_, STDERR_FILENO), STDERR_FILENO);
    ::close(before_);
    ::close(ends_[1]);
    close_reader();
  }
  piped_stderr(piped_stderr const&) = delete;
  piped_stderr& operator=(piped_stderr const&) = delete;

  void fill() const {
    char const page[4096] = {};
    while (::write(ends_[1], page, sizeof page) > 0) {
    }
  }
  void write_blocks() const { ::fcntl(ends_[1], F_SETFL, 0); }
  std::size_t read_some() const {
    char some[4096];
    ssize_t const n = ::read(ends_[0], some, sizeof some);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  std::string read_all() const {
    std::string all;
    char some[4096];
    for (ssize_t n = 0; (n = ::read(ends_[0], some, sizeof some)) > 0;) all.append(some, static_cast<std::size_t>(n));
    return all;
  }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }

 private:
  int const before_ = ::dup(STDERR_FILENO);
  int ends_[2] = {-1, -1};
};

TEST(full_stderr, that_is_not_read_is_told_from_one_that_takes_a_report) {
  bool waits_if_empty = true;
  bool waits_if_full = false;
  bool waits_without_reader = true;
  {
    piped_stderr pipe;
    waits_if_empty = rt::stderr_would_wait();
    pipe.fill();
    waits_if_full = rt::stderr_would_wait();
    pipe.close_reader();
    waits_without_reader = rt::stderr_would_wait();
  }
  EXPECT_FALSE(waits_if_empty);
  EXPECT_TRUE(waits_if_full);
  EXPECT_FALSE(waits_without_reader) << "the write fails";
}

TEST(full_stderr, takes_a_long_report_in_pieces_and_no_other_report_comes_between_them) {
  std::string expected;
  std::string got;
  bool begins_between = false;
  {
    piped_stderr const pipe;
    pipe.write_blocks();
    rt::report_text out;
    EXPECT_TRUE(out.can_begin());
    out.begin(500'000);
    for (int i = 0; i < 10'000; ++i) {
      expected += "line " + std::to_string(i) + " of a report\n";
      out.add("line %d of a report\n", i);
    }
    out.send();
    begins_between = out.can_begin();
    EXPECT_TRUE(out.is_under_way()) << "sysmon stays awake for it";
    for (std::string more = pipe.read_all(); !more.empty(); more = pipe.read_all()) {
      got += more;
      static_cast<void>(out.can_begin());
    }
    EXPECT_TRUE(out.can_begin());
    EXPECT_FALSE(out.is_under_way());
  }
  EXPECT_FALSE(begins_between);
  EXPECT_EQ(got, expected);
}

TEST(full_stderr, of_a_report_without_room_only_whole_lines_are_written) {
  std::string got;
  {
    piped_stderr const pipe;
    rt::report_text out;
    out.begin(20);
    out.add("first line\n");
    out.add("second ");
    out.add("line, which is too long\n");
    out.add("third\n");
    out.send();
    got = pipe.read_all();
  }
  EXPECT_EQ(got, "first line\n");
}

// --- reports of other threads ---

constexpr auto patience = 50ms;

class short_patience {
 public:
  explicit short_patience(std::chrono::nanoseconds limit = patience) { rt::set_stderr_patience(limit.count()); }
  ~short_patience() { rt::set_stderr_patience(std::chrono::nanoseconds(10s).count()); }
  short_patience(short_patience const&) = delete;
  short_patience& operator=(short_patience const&) = delete;
};

TEST(full_stderr, holds_up_one_write_for_a_limited_time_and_the_next_ones_not_at_all) {
  constexpr int more = 200;
  clock::time_point began;
  clock::time_point first_ended;
  clock::time_point all_ended;
  std::string got;
  {
    short_patience const limit;
    piped_stderr const pipe;
    pipe.fill();
    pipe.write_blocks();
    began = clock::now();
    rt::print_error("lost");
    first_ended = clock::now();
    for (int i = 0; i < more; ++i) rt::print_error("lost too");
    all_ended = clock::now();
    static_cast<void>(pipe.read_all());
    for (int i = 0; i < 2; ++i) rt::print_error("taken");
    got = pipe.read_all();
  }
  EXPECT_GE(first_ended - began, patience);
  EXPECT_LT(all_ended - first_ended, more * patience / 2) << "these would wait " << more << " times as long";
  EXPECT_EQ(
      got,
      "\nthrum: a part of the text before this line was lost, because standard error took too long\ntaken\ntaken\n");
}

TEST(full_stderr, that_is_read_slowly_takes_a_long_text_without_a_gap) {
  std::string const text(500'000, 'x');
  std::size_t got = 0;
  {
    piped_stderr const pipe;
    pipe.write_blocks();
    std::atomic<bool> is_written{false};
    std::thread writer([&] {
      rt::write_to_stderr(text.data(), text.size());
      is_written = true;
    });
    while (!is_written) {
      got += pipe.read_some();
      std::this_thread::yield();
    }
    writer.join();
    got += pipe.read_all().size();
  }
  EXPECT_EQ(got, text.size());
}

// The limit of a whole text is six times the patience, and more for a long text.
TEST(full_stderr, that_is_read_steadily_takes_a_text_that_needs_longer_than_a_short_one_may) {
  constexpr auto reader_patience = 1s;  // far longer than a busy machine keeps the reader from its turn
  std::string const text(2'000'000, 'x');
  std::size_t got = 0;
  clock::duration took{};
  {
    short_patience const limit(reader_patience);
    piped_stderr const pipe;
    pipe.write_blocks();
    std::atomic<bool> is_written{false};
    clock::time_point const began = clock::now();
    std::thread writer([&] {
      rt::write_to_stderr(text.data(), text.size());
      is_written = true;
    });
    auto const needs = 8 * reader_patience;  // of at most 24
    while (!is_written) {
      auto const share = static_cast<double>((clock::now() - began) / 1us) / static_cast<double>(needs / 1us);
      if (static_cast<double>(got) < share * static_cast<double>(text.size())) got += pipe.read_some();
      std::this_thread::yield();
    }
    took = clock::now() - began;
    writer.join();
    got += pipe.read_all().size();
  }
  EXPECT_EQ(got, text.size());
  EXPECT_GT(took, 6 * reader_patience) << "the test shows nothing";
}

// The reader takes a page whenever the writer has waited for a while. So the writer never waits for long at a time.
TEST(full_stderr, that_is_read_very_slowly_does_not_hold_up_a_write_for_ever) {
  std::string const text(4'000'000, 'x');
  std::size_t got = 0;
  bool is_given_up = false;
  {
    short_patience const limit;
    piped_stderr const pipe;
    pipe.write_blocks();
    std::atomic<bool> is_written{false};
    std::thread writer([&] {
      rt::write_to_stderr(text.data(), text.size());
      is_written = true;
    });
    while (!is_written) {
      got += pipe.read_some();
      std::this_thread::sleep_for(patience / 2);
    }
    writer.join();
    is_given_up = rt::stderr_is_given_up();
    got += pipe.read_all().size();
    rt::print_error("taken");
    EXPECT_FALSE(rt::stderr_is_given_up());
  }
  EXPECT_TRUE(is_given_up);
  EXPECT_LT(got, text.size());
}

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

TEST_F(full_stderr_of_a_run, does_not_keep_a_panic_from_ending_the_program) {
  EXPECT_EXIT(
      {
        fill_stderr();
        thrum::run([] {
          go([] { throw std::runtime_error("no process reads this"); });
          sleep_for(1h);
        });
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
        thrum::run([] { static_cast<void>(chan<int>().recv()); });
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
        thrum::run([] {
          go([] { throw std::runtime_error("no process reads this"); });
          sleep_for(1h);
        });
      },
      testing::ExitedWithCode(2), "");
}

TEST_F(full_stderr_of_a_run, that_is_a_terminal_does_not_keep_a_deadlock_from_ending_the_program) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_EXIT(
      {
        fill_terminal();
        thrum::run([] { static_cast<void>(chan<int>().recv()); });
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
        thrum::run([] {
          go([] { throw std::runtime_error("no process reads this"); });
          sleep_for(1h);
        });
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

// --- a reader that has gone ---

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
