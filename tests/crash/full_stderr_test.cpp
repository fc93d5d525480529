// A reader of standard error that does not read. Reports of sysmon's own thread (sys/report_text.h) do not wait for it,
// and all other reports (base/standard_error.h) wait for a limited time.
#include "base/check.h"
#include "base/standard_error.h"
#include "crash/piped_stderr.h"
#include "sys/report_text.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

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

// Writes a text to standard error on a thread of its own, and joins the thread in the destructor.
class stderr_writer {
 public:
  explicit stderr_writer(std::string const& text)
      : thread_([this, &text] {
          rt::write_to_stderr(text.data(), text.size());
          is_done_ = true;
        }) {}
  ~stderr_writer() { thread_.join(); }
  stderr_writer(stderr_writer const&) = delete;
  stderr_writer& operator=(stderr_writer const&) = delete;

  [[nodiscard]] bool is_done() const { return is_done_; }

 private:
  std::atomic<bool> is_done_{false};
  std::thread thread_;  // the last member, because it uses the other one
};

TEST(full_stderr, that_is_read_slowly_takes_a_long_text_without_a_gap) {
  std::string const text(500'000, 'x');
  std::size_t got = 0;
  {
    piped_stderr const pipe;
    pipe.write_blocks();
    stderr_writer const writer(text);
    while (!writer.is_done()) {
      got += pipe.read_some();
      std::this_thread::yield();
    }
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
    clock::time_point const began = clock::now();
    stderr_writer const writer(text);
    auto const needs = 8 * reader_patience;  // of at most 24
    while (!writer.is_done()) {
      auto const share = static_cast<double>((clock::now() - began) / 1us) / static_cast<double>(needs / 1us);
      if (static_cast<double>(got) < share * static_cast<double>(text.size())) got += pipe.read_some();
      std::this_thread::yield();
    }
    took = clock::now() - began;
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
    stderr_writer const writer(text);
    while (!writer.is_done()) {
      got += pipe.read_some();
      std::this_thread::sleep_for(patience / 2);
    }
    is_given_up = rt::stderr_is_given_up();
    got += pipe.read_all().size();
    rt::print_error("taken");
    EXPECT_FALSE(rt::stderr_is_given_up());
  }
  EXPECT_TRUE(is_given_up);
  EXPECT_LT(got, text.size());
}

}  // namespace
}  // namespace thrum::test
