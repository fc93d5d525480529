// The order of records whose times contradict their numbers.
#include "trace/example_trace.h"
#include "trace/reading.h"

#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace thrum;
using namespace thrum::test;

constexpr std::uint16_t thread = 0xfff3;

std::vector<int> kinds_of(command::trace const& of) {
  std::vector<int> kinds;
  for (command::event const& each : of.merged.events) kinds.push_back(static_cast<int>(each.what->kind));
  return kinds;
}

bool never_goes_back(command::trace const& of) {
  for (std::size_t i = 1; i < of.merged.events.size(); ++i) {
    if (of.merged.events[i].ns < of.merged.events[i - 1].ns) return false;
  }
  return true;
}

TEST(trace_merge, streams_are_merged_by_time) {
  trace_builder b;
  b.g(1, 200, kind::start, 7)
      .g(0, 100, kind::stop, 8, {0}, 9)
      .g(1, 300, kind::end, 7)
      .g(0, 250, kind::ready, 8, {0, 0})
      .end();
  EXPECT_EQ(kinds_of(read(b)), (std::vector<int>{kind::stop, kind::start, kind::ready, kind::end}));
}

TEST(trace_merge, the_numbers_of_a_goroutine_win_over_times_that_contradict_them) {
  trace_builder b;
  b.g(0, 1'000, kind::create, 7, {0, 0});
  b.g(1, 700, kind::start, 7);  // the counter of this processor is 300 or more behind
  b.g(1, 900, kind::yield, 7);
  b.g(0, 1'300, kind::start, 7).end();
  command::trace const read_back = read(b);
  EXPECT_EQ(kinds_of(read_back), (std::vector<int>{kind::create, kind::start, kind::yield, kind::start}));
  EXPECT_EQ(violations_of(read_back), "");
  EXPECT_TRUE(never_goes_back(read_back));
  EXPECT_EQ(read_back.merged.times_corrected, 2U);
  EXPECT_EQ(read_back.merged.correction_max_ns, 300);
}

TEST(trace_merge, what_follows_in_the_stream_of_a_p_stays_behind_a_record_that_waits) {
  trace_builder b;
  b.g(0, 1'000, kind::create, 7, {0, 0});
  b.g(1, 700, kind::start, 7).s(1, 750, kind::global, {3}).g(1, 800, kind::stop, 7, {0}, 1).end();
  EXPECT_EQ(kinds_of(read(b)), (std::vector<int>{kind::create, kind::start, kind::global, kind::stop}));
}

TEST(trace_merge, threads_without_a_p_share_a_stream_in_any_order) {
  trace_builder b;
  b.lose(7).add(thread, 500, kind::start, 0, 1, {7}).add(thread, 600, kind::create, 0, 0, {7, 0, 0}).end();
  command::trace const read_back = read(b);
  EXPECT_EQ(kinds_of(read_back), (std::vector<int>{kind::create, kind::start}));
  EXPECT_EQ(violations_of(read_back), "");
}

TEST(trace_merge, the_numbers_of_an_m_win_too) {
  trace_builder b;
  b.m(0, 500, 4, 3).m(1, 400, 4, 4).m(0, 700, 4, 3).end();
  command::trace const read_back = read(b);
  ASSERT_EQ(read_back.past.m_intervals.size(), 3U);
  EXPECT_EQ(read_back.past.m_intervals[0].state, 3);
  EXPECT_EQ(read_back.past.m_intervals[1].state, 4);
  EXPECT_EQ(violations_of(read_back), "");
}

TEST(trace_merge, numbers_go_on_after_255) {
  trace_builder b;
  b.g(0, 0, kind::create, 7, {0, 0});
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    b.g(i % 2, 10 + i * 10, kind::start, 7);
    b.g((i + 1) % 2, 12 + i * 10, kind::yield, 7);
  }
  b.end();
  command::trace const read_back = read(b);
  EXPECT_EQ(violations_of(read_back), "");
  EXPECT_EQ(read_back.merged.events.back().number - read_back.merged.events.front().number, 2'000);
}

TEST(trace_merge, a_contradiction_between_a_stream_and_the_numbers_is_reported_and_does_not_hang) {
  trace_builder b;
  b.add(0, 100, kind::start, 0, 1, {7}).add(0, 200, kind::create, 0, 0, {7, 0, 0}).end();
  command::trace const read_back = read(b);
  EXPECT_EQ(read_back.merged.events.size(), 2U);
  EXPECT_TRUE(contains(violations_of(read_back), "the order of stream 0 contradicts the sequence number"))
      << violations_of(read_back);
}

}  // namespace
