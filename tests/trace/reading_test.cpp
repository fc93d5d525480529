// What the reader makes of well-formed files.
#include "trace/reading.h"

#include "trace/example_trace.h"

#include <gtest/gtest.h>

namespace {

using namespace thrum;
using namespace thrum::test;

TEST(trace_reading, a_well_formed_trace_has_no_violation_and_no_note) {
  command::trace const read_back = read(example_trace());
  EXPECT_EQ(violations_of(read_back), "");
  EXPECT_EQ(notes_of(read_back), "");
  EXPECT_EQ(read_back.file.header.process, 4711U);
  EXPECT_TRUE(read_back.file.has_end);
  EXPECT_EQ(read_back.past.goroutines.size(), 3U);
}

TEST(trace_reading, a_site_is_named_by_the_sites_or_by_its_module_or_by_its_address) {
  command::trace_file const file = command::read_trace(example_trace().bytes());
  EXPECT_EQ(file.name_of_site(serve), "serve (server.cpp:40)");
  EXPECT_EQ(file.short_name_of_site(serve), "serve");
  EXPECT_EQ(file.name_of_site(0x1800), "libserver.so+0xc00");
  EXPECT_EQ(file.name_of_site(0x2000), "0x2000");
  EXPECT_EQ(file.name_of_site(0xfff), "0xfff");
  EXPECT_EQ(file.name_of_site(0), "(unknown)");
}

TEST(trace_reading, without_clock_blocks_the_rate_of_the_header_counts) {
  trace_builder b({.ticks_per_second = 2'000'000'000});
  b.g(0, 0, kind::create, 7, {0, 0}).g(0, 3'000, kind::start, 7).end();
  command::trace const read_back = read(b);
  EXPECT_EQ(read_back.merged.events.at(1).ns, 1'500);
}

TEST(trace_reading, clock_blocks_correct_the_rate_of_the_header) {
  trace_builder b;
  b.g(0, 500, kind::create, 7, {0, 0}).g(0, 1'500, kind::start, 7).g(0, 3'000, kind::yield, 7).flush_all();
  b.clock(0, 0).clock(1'000, 2'000).clock(2'000, 3'000).end();
  command::trace const read_back = read(b);
  EXPECT_EQ(violations_of(read_back), "");
  ASSERT_EQ(read_back.merged.events.size(), 3U);
  EXPECT_EQ(read_back.merged.events[0].ns, 1'000);  // between the first two points
  EXPECT_EQ(read_back.merged.events[1].ns, 2'500);  // between the last two points
  EXPECT_EQ(read_back.merged.events[2].ns, 4'000);  // behind the last point, as between the last two
}

TEST(trace_reading, a_clock_that_goes_back_is_a_violation) {
  trace_builder b;
  b.clock(2'000, 2'000).clock(1'000, 3'000).end();
  EXPECT_TRUE(contains(violations_of(b), "one of its clocks has gone back")) << violations_of(b);
}

TEST(trace_reading, a_clock_record_is_the_base_of_the_records_behind_it) {
  trace_builder b;
  b.g(0, 100, kind::create, 7, {0, 0});
  b.s(0, 100, kind::clock, {trace_builder::begin_ticks + 10'000'000'000});
  b.add(0, 300, kind::start, 0, 1, {7}).end();  // 300 - 100 + 500 after that base
  command::trace const read_back = read(b);
  ASSERT_EQ(read_back.merged.events.size(), 2U);
  EXPECT_EQ(read_back.merged.events[1].ns, 10'000'000'700);
}

TEST(trace_reading, records_and_blocks_of_unknown_kinds_are_skipped_and_counted) {
  trace_builder b = example_records();
  b.s(0, 20'100, 99, {1, 2, 3}).flush_all().block(77, 0, 0, 0, 0, {1, 2}).end();
  command::trace const read_back = read(b);
  EXPECT_EQ(violations_of(read_back), "");
  EXPECT_EQ(read_back.file.unknown_records, 1U);
  EXPECT_EQ(read_back.file.unknown_blocks, 1U);
  EXPECT_TRUE(contains(notes_of(read_back), "1 records and 1 blocks are of kinds that this program does not know"));
}

TEST(trace_reading, what_is_no_trace_of_this_version_is_refused_with_the_reason) {
  std::string const good = example_trace().bytes();
  EXPECT_TRUE(contains(why_unreadable(""), "this is no trace file"));
  EXPECT_TRUE(contains(why_unreadable("thrumtr"), "this is no trace file"));
  EXPECT_TRUE(contains(why_unreadable("an ELF file, or anything else"), "this is no trace file"));
  EXPECT_TRUE(contains(why_unreadable(good.substr(0, 63)), "the file ends in its header: it has 63 bytes"));
  EXPECT_TRUE(
      contains(why_unreadable(trace_builder({.version = 2}).bytes()), "the file has version 2 of the trace format"));
  EXPECT_TRUE(contains(why_unreadable(trace_builder({.ticks_per_second = 0}).bytes()), "0 ticks per second"));
  std::string long_header = good;
  long_header[12] = 72;
  EXPECT_TRUE(contains(why_unreadable(long_header), "the header claims to have 72 bytes"));
}

TEST(trace_reading, texts_from_the_file_cannot_disturb_the_terminal) {
  trace_builder b;
  b.g(0, 0, kind::create, 7, {serve, 0})
      .g_text(0, 1, kind::name, {7}, "red \x1b[31m \xff\xfe caf\xc3\xa9 \xe2\x82")
      .end();
  EXPECT_EQ(read(b).past.goroutines.at(0).name,
            "red \xef\xbf\xbd[31m \xef\xbf\xbd\xef\xbf\xbd caf\xc3\xa9 \xef\xbf\xbd");
}

}  // namespace
