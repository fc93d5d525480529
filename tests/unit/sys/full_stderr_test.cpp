// Reports of sysmon's own thread (sys/report_text.h) do not wait for a reader of stderr that does not read.
#include "base/check.h"
#include "base/platform.h"
#include "conformance/child_test.h"
#include "sys/report_text.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

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
    for (std::string more = pipe.read_all(); !more.empty(); more = pipe.read_all()) {
      got += more;
      static_cast<void>(out.can_begin());
    }
    EXPECT_TRUE(out.can_begin());
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

class full_stderr_of_a_run : public child_test {};

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
