// The strict checker: each fault is found, and losses that the file admits are no faults.
#include "trace/example_trace.h"
#include "trace/reading.h"

#include <gtest/gtest.h>

namespace {

using namespace thrum;
using namespace thrum::test;

#define EXPECT_VIOLATION(builder, part)                            \
  do {                                                             \
    std::string const found = violations_of(builder);              \
    EXPECT_TRUE(contains(found, part)) << "found only: " << found; \
  } while (false)

trace_builder with_goroutine() {
  trace_builder b;
  b.g(0, 0, kind::create, 7, {0, 0}).g(0, 100, kind::start, 7);
  return b;
}

TEST(trace_checks, every_change_of_the_table_is_accepted) {
  trace_builder b = with_goroutine();
  b.g(0, 200, kind::yield, 7).g(0, 300, kind::start, 7).g(0, 400, kind::stop, 7, {0}, reason_mutex);
  b.g(0, 500, kind::ready, 7, {0, 0})
      .g(0, 600, kind::start, 7)
      .g(0, 700, kind::call, 7, {0})
      .g(0, 800, kind::return_, 7);
  b.g(0, 900, kind::call, 7, {0}, 1).g(0, 1'000, kind::return_, 7, {}, 2).g(1, 1'100, kind::start, 7);
  b.g(1, 1'150, kind::create, 8, {0, 7}).g(1, 1'200, kind::host, 7, {8}).g(1, 1'200, kind::start, 8, {}, 2);
  b.g(1, 1'300, kind::end, 8, {}, 1).g(1, 1'300, kind::hosted, 7).g(1, 1'400, kind::end, 7).end();
  command::trace const read_back = read(b);
  EXPECT_EQ(violations_of(read_back), "");
  command::goroutine_life const& seven = read_back.past.goroutines.at(0);
  EXPECT_EQ(seven.ns[static_cast<std::size_t>(command::g_state::in_call)], 200);
  EXPECT_EQ(seven.ns[static_cast<std::size_t>(command::g_state::hosting)], 100);
  EXPECT_EQ(seven.ns[static_cast<std::size_t>(command::g_state::waiting)], 100);
}

TEST(trace_checks, a_holder_is_told_by_a_running_goroutine) {
  trace_builder b = with_goroutine();
  b.g(0, 200, kind::holder, 7, {3}).g(0, 300, kind::stop, 7, {0x7f00}, reason_mutex);
  command::trace const read_back = read(trace_builder(b).end());
  EXPECT_EQ(violations_of(read_back), "");
  EXPECT_EQ(read_back.past.intervals.back().holder, 3U);
  EXPECT_VIOLATION(trace_builder(b).g(0, 400, kind::holder, 7, {3}).end(),
                   "goroutine 7, `holder` at byte 200 needs the state running, and the goroutine is waiting");
  EXPECT_VIOLATION(with_goroutine().g(0, 200, kind::holder, 7, {0}).end(), "the holder 0 is no number of a goroutine");
}

TEST(trace_checks, a_record_about_a_goroutine_counts_also_if_its_kind_is_not_known) {
  constexpr std::uint8_t of_a_goroutine = 19, of_its_program = 49, of_the_scheduler = 39;
  trace_builder b = with_goroutine();
  b.g(0, 200, of_a_goroutine, 7, {1, 2, 3}).g(0, 250, of_its_program, 7).s(0, 260, of_the_scheduler, {7});
  command::trace const read_back = read(trace_builder(b).g(0, 300, kind::yield, 7).end());
  EXPECT_EQ(violations_of(read_back), "");
  EXPECT_EQ(read_back.file.unknown_records, 3U);
  EXPECT_TRUE(contains(notes_of(read_back), "3 records and 0 blocks are of kinds that this program does not know"));
  EXPECT_VIOLATION(trace_builder(b).lose(7).g(0, 300, kind::yield, 7).end(), "1 records are missing");
}

TEST(trace_checks, a_change_that_the_table_does_not_have_is_found) {
  EXPECT_VIOLATION(with_goroutine().g(0, 200, kind::start, 7).end(),
                   "`start` at byte 152 needs the state runnable, and the goroutine is running");
  EXPECT_VIOLATION(with_goroutine().g(0, 200, kind::return_, 7).end(),
                   "needs the state in call, and the goroutine is running");
  EXPECT_VIOLATION(with_goroutine().g(0, 200, kind::hosted, 7).end(), "needs the state hosting");
  EXPECT_VIOLATION(with_goroutine().g(0, 200, kind::yield, 7).g(0, 300, kind::stop, 7, {0}, 1).end(),
                   "needs the state running");
}

TEST(trace_checks, a_ready_without_its_stop_is_found) {
  EXPECT_VIOLATION(with_goroutine().g(0, 200, kind::ready, 7, {0, 0}).end(),
                   "needs the state waiting, and the goroutine is running, so this `ready` has no `stop`");
}

TEST(trace_checks, a_goroutine_that_goes_on_after_its_end_is_found) {
  trace_builder const ended = with_goroutine().g(0, 200, kind::end, 7);
  EXPECT_VIOLATION(trace_builder(ended).g(0, 300, kind::start, 7).end(),
                   "needs the state runnable, and the goroutine is absent");
  EXPECT_VIOLATION(trace_builder(ended).g_text(0, 300, kind::name, {7}, "x").end(), "comes after the goroutine's end");
  EXPECT_VIOLATION(trace_builder(ended).g(0, 300, kind::create, 7, {0, 0}).end(),
                   "is not the first record of its goroutine");
}

TEST(trace_checks, a_create_that_is_not_the_first_record_is_found) {
  EXPECT_VIOLATION(with_goroutine().g(0, 200, kind::create, 7, {0, 0}).end(),
                   "is not the first record of its goroutine");
  trace_builder b;
  EXPECT_VIOLATION(b.lose(7).g(0, 0, kind::create, 7, {0, 0}).end(), "is not the first record of its goroutine");
}

TEST(trace_checks, a_missing_record_of_a_goroutine_is_found) {
  EXPECT_VIOLATION(with_goroutine().lose(7, 2).g(0, 200, kind::yield, 7).end(),
                   "goroutine 7, `yield` at byte 152: 2 records are missing before the sequence number 4");
}

TEST(trace_checks, a_number_that_stands_there_twice_is_found) {
  trace_builder b = with_goroutine();
  EXPECT_VIOLATION(b.add(0, 200, kind::yield, 0, 1, {7}).end(), "has the sequence number 1 a second time");
}

TEST(trace_checks, a_gap_in_the_numbers_of_an_m_is_found) {
  trace_builder b;
  EXPECT_VIOLATION(b.add(0, 0, kind::m, 3, 5, {4, 0}).add(0, 10, kind::m, 4, 7, {4, 0}).end(),
                   "M 4, `m` at byte 128: 1 records are missing before the sequence number 7");
  trace_builder twice;
  EXPECT_VIOLATION(twice.add(0, 0, kind::m, 3, 5, {4, 0}).add(0, 10, kind::m, 4, 5, {4, 0}).end(),
                   "the sequence number 5 stands there a second time");
}

TEST(trace_checks, two_ms_that_hold_one_p_are_found) {
  trace_builder b;
  EXPECT_VIOLATION(b.s(0, 0, kind::take, {1}).s(0, 10, kind::take, {2}).end(), "M 2 takes P 0, and M 1 holds it");
  trace_builder other;
  EXPECT_VIOLATION(other.s(0, 0, kind::take, {1}).s(0, 10, kind::release, {2}).end(),
                   "M 2 releases P 0, and M 1 holds it");
  trace_builder none;
  EXPECT_VIOLATION(none.s(0, 0, kind::release, {1}).s(0, 10, kind::release, {1}).end(), "and no M holds it");
  trace_builder thread;
  EXPECT_VIOLATION(thread.s(0xfff0, 0, kind::take, {1}).end(), "stands in the stream of threads without a P");
}

TEST(trace_checks, two_goroutines_that_run_on_one_p_are_found) {
  trace_builder b = with_goroutine();
  b.g(0, 200, kind::create, 8, {0, 0}).g(0, 300, kind::start, 8);
  b.g(0, 5'000'000, kind::yield, 7).g(0, 5'000'100, kind::yield, 8).end();
  EXPECT_VIOLATION(b, "P 0 runs the goroutines 7 and 8 at the same time, for 5.00 ms");
}

TEST(trace_checks, times_that_go_back_in_the_stream_of_a_p_are_found) {
  trace_builder b = with_goroutine().g(0, 9'000'000, kind::yield, 7);
  b.flush_all().g(0, 5'000'000, kind::start, 7).end();
  EXPECT_VIOLATION(b, "is 4.00 ms older than the record before it");
}

TEST(trace_checks, blocks_in_the_wrong_order_are_found) {
  trace_builder b;
  b.block(1, 0, 1, 0, 0, {}).block(1, 0, 0, 0, 0, {}).end();
  EXPECT_VIOLATION(b, "block 0 of stream 0 stands behind block 1, and is ignored");
}

TEST(trace_checks, numbers_that_contradict_each_other_are_found) {
  trace_builder losses;
  EXPECT_VIOLATION(losses.block(1, 0, 0, 0, 5, {}).block(1, 0, 1, 0, 4, {}).end(5),
                   "counts 4 lost events, and the block before counts 5");
  trace_builder sum;
  EXPECT_VIOLATION(sum.block(1, 0, 0, 0, 5, {}).end(4),
                   "the `end` block counts 4 lost events, and the streams count 5");
  trace_builder behind;
  EXPECT_VIOLATION(behind.end().block(1, 0, 0, 0, 0, {}), "behind the `end` block");
  trace_builder stream;
  EXPECT_VIOLATION(stream.block(5, 3, 0, 0, 0, {0}),
                   "a block of kind 5 has the stream 3 and the number 0, and both must be 0");
}

TEST(trace_checks, records_of_the_wrong_length_or_detail_are_found) {
  trace_builder b;
  EXPECT_VIOLATION(b.s(0, 0, kind::steal, {1}).end(), "`steal` at byte 104 has 2 words instead of 3, and is ignored");
  trace_builder longer;
  EXPECT_VIOLATION(longer.s(0, 0, kind::poll, {1, 2}).end(), "`poll` at byte 104 has 3 words instead of 2");
  trace_builder detail;
  EXPECT_VIOLATION(detail.s(0, 0, kind::spun, {1}, 2).end(),
                   "`spun` at byte 104 has the detail 2, which version 1 does not have");
  trace_builder text;
  EXPECT_VIOLATION(text.add(0, 0, kind::name, 0, 0, {7, 9, 0}).end(),
                   "`name` at byte 104 has 4 words instead of 5, and is ignored");
  trace_builder number;
  EXPECT_VIOLATION(number.g(0, 0, kind::start, 0).end(), "0 is no number of a goroutine");
}

TEST(trace_checks, lost_events_are_counted_and_explain_missing_records) {
  trace_builder b = with_goroutine()
                        .flush(0)
                        .lost_events(0, 3)
                        .lose(7, 3)
                        .g(0, 900, kind::stop, 7, {0}, 1)
                        .g(0, 950, kind::ready, 7, {0, 0});
  command::trace const read_back = read(b.end(3));
  EXPECT_EQ(violations_of(read_back), "");
  EXPECT_EQ(read_back.file.lost_events, 3U);
  EXPECT_EQ(read_back.past.missing_records, 3U);
  EXPECT_TRUE(contains(notes_of(read_back), "3 events were lost"));
  // What it did between 100 and 900 is not known, and its states add up to its life.
  EXPECT_EQ(read_back.past.goroutines.at(0).ns[static_cast<std::size_t>(command::g_state::unknown)], 800);
}

TEST(trace_checks, lost_blocks_are_counted_and_explain_missing_records) {
  trace_builder b = with_goroutine().flush(0).skip_block(0, 2).lose(7, 200).g(0, 2'000'000'000, kind::stop, 7, {0}, 1);
  command::trace const read_back = read(b.end());
  EXPECT_EQ(violations_of(read_back), "");
  EXPECT_EQ(read_back.file.lost_blocks, 2U);
  EXPECT_EQ(read_back.past.missing_records, 200U);
  EXPECT_TRUE(contains(notes_of(read_back), "2 blocks are missing"));
}

TEST(trace_checks, the_streams_of_a_flight_record_begin_at_different_times) {
  trace_builder b({.is_flight_record = true});
  b.skip_block(0, 9).skip_block(1, 4);
  b.lose(7, 5).g(1, 1'000, kind::stop, 7, {0}, 1);   // stream 1 begins here,
  b.lose(7, 2).g(1, 2'000, kind::ready, 7, {0, 0});  // and what is missing was in stream 0,
  b.g(0, 3'000, kind::start, 7).end();               // which begins here,
  command::trace const read_back = read(b);
  EXPECT_EQ(violations_of(read_back), "");
  EXPECT_EQ(read_back.file.lost_blocks, 0U);
  EXPECT_EQ(read_back.file.left_out, 2U);  // so these are not used
  EXPECT_EQ(read_back.past.missing_records, 0U);
  trace_builder later({.is_flight_record = true});
  later.skip_block(0, 9)
      .g(0, 3'000, kind::start, 8)
      .g(0, 90'000, kind::start, 7)
      .lose(7)
      .g(0, 95'000, kind::end, 7)
      .end();
  EXPECT_VIOLATION(later, "1 records are missing");
}

TEST(trace_checks, a_flight_record_tells_from_when_on_it_is_complete) {
  trace_builder b({.is_flight_record = true});
  // A stream that has nothing left had 256 records between these two, so the numbers cannot tell that any are missing.
  b.g(0, 1'000, kind::create, 7, {0, 0}).lose(7, 254).g(0, 2'000, kind::ready, 7, {0, 0});
  b.complete_from(1'500).g(0, 3'000, kind::start, 7).end();
  command::trace const read_back = read(b);
  EXPECT_EQ(violations_of(read_back), "");
  EXPECT_EQ(read_back.file.left_out, 1U);
  ASSERT_EQ(read_back.merged.events.size(), 2U);
  trace_builder other;
  other.complete_from(1'500).end();
  EXPECT_VIOLATION(other, "no flight record");
  trace_builder twice({.is_flight_record = true});
  twice.complete_from(1'500).complete_from(1'000).end();
  EXPECT_VIOLATION(twice, "a second `complete from` block");
}

TEST(trace_checks, a_flight_record_has_no_gap_after_the_moment_from_which_it_is_complete) {
  trace_builder b({.is_flight_record = true});
  b.complete_from(1'000).g(0, 200'000, kind::create, 7, {0, 0}).flush(0);
  b.skip_block(0).g(0, 900'000, kind::start, 7).end();
  EXPECT_VIOLATION(b, "blocks of stream 0 are missing before block 2");
}

// Its stream was not used for long, so it has begun its only block that is left much later.
TEST(trace_checks, a_quiet_stream_does_not_shorten_a_flight_record) {
  trace_builder b({.is_flight_record = true});
  b.complete_from(1'000).g(0, 200'000, kind::create, 7, {0, 0});
  b.skip_block(1, 5).g(1, 900'000, kind::start, 7).end();
  command::trace const read_back = read(b);
  EXPECT_EQ(violations_of(read_back), "");
  EXPECT_EQ(read_back.file.left_out, 0U);
  EXPECT_EQ(read_back.merged.events.size(), 2U);
}

// The recorder has used the memory of the blocks again while it wrote the file.
TEST(trace_checks, a_stream_of_a_flight_record_begins_behind_its_last_gap) {
  trace_builder b({.is_flight_record = true});
  b.skip_block(0, 3).lose(7, 9).g(0, 1'000, kind::stop, 7, {0}, 1).flush(0);
  b.skip_block(0).lose(7, 200).g(0, 2'000, kind::start, 7).flush(0).complete_from(1'900);
  b.g(0, 3'000, kind::end, 7).end();
  command::trace const read_back = read(b);
  EXPECT_EQ(violations_of(read_back), "");
  EXPECT_EQ(read_back.file.lost_blocks, 0U);
  EXPECT_EQ(read_back.file.left_out, 1U);
  EXPECT_EQ(read_back.past.missing_records, 0U);
}

TEST(trace_checks, the_first_record_tells_what_a_goroutine_was_before) {
  trace_builder b;
  b.lose(7, 40).g(0, 700, kind::ready, 7, {0, 0}).end();
  command::trace const read_back = read(b);
  EXPECT_EQ(violations_of(read_back), "");
  ASSERT_EQ(read_back.past.intervals.size(), 2U);
  EXPECT_EQ(read_back.past.intervals[0].state, command::g_state::waiting);
  EXPECT_EQ(read_back.past.intervals[0].begin, 0);
  EXPECT_EQ(read_back.past.intervals[0].end, 700);
}

}  // namespace
