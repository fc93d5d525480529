// Files that were cut off, damaged or made up: a clear answer, no crash, no hang, and no memory without bounds.
#include "command/trace/command.h"
#include "command/trace/json.h"
#include "command/trace/perfetto.h"
#include "command/trace/print_summary.h"
#include "command/trace/recording.h"
#include "command/trace/summarise.h"
#include "command/trace/svg.h"
#include "trace/example_trace.h"
#include "trace/reading.h"

#include <random>
#include <sstream>

#include <gtest/gtest.h>

namespace {

using namespace thrum;
using namespace thrum::test;

// Several blocks per stream, and one of each other kind.
trace_builder in_many_blocks() {
  trace_builder b;
  for (std::uint64_t i = 0; i < 6; ++i) {
    std::uint64_t const g = 10 + i;
    std::uint64_t const at = i * 1'000;
    b.g(i % 2, at, kind::create, g, {serve, 0})
        .g(1, at + 100, kind::start, g)
        .g(1, at + 300, kind::stop, g, {channel}, reason_mutex);
    b.g_text(0xfff1, at + 350, kind::log, {g, 0}, "so far, so good").g(0, at + 400, kind::ready, g, {0, in_main});
    b.m(0, at + 500, 3, i % 2 == 0 ? 3 : 4, 99);
    if (i % 2 == 1) b.flush_all();
  }
  b.site(serve, "serve", "server.cpp:40").module(0x1000, 0x2000, 0, "server").clock(9'000, 9'000).end();
  return b;
}

// Everything that the command can make of a trace.
void use(command::trace const& of) {
  command::summary const numbers = command::summarise(of, 5);
  EXPECT_FALSE(command::printed(of, numbers).empty());
  EXPECT_FALSE(command::as_json(of, numbers).empty());
  EXPECT_FALSE(command::as_svg(of).empty());
  EXPECT_FALSE(command::as_recording(of, "a").json.empty());
  if (command::has_perfetto()) {
    std::ostringstream out;
    command::write_perfetto(of, out);
  }
}

TEST(trace_damaged, a_trace_that_is_cut_off_at_any_byte_is_read_up_to_there) {
  std::string const whole = in_many_blocks().bytes();
  ASSERT_EQ(violations_of(read(whole)), "");
  std::uint64_t records_before = 0;
  for (std::size_t bytes = 64; bytes < whole.size(); ++bytes) {
    command::trace const cut = read(std::string_view(whole).substr(0, bytes));
    EXPECT_FALSE(cut.file.has_end) << bytes;
    EXPECT_EQ(cut.file.damage, "") << bytes;
    EXPECT_EQ(violations_of(cut), "") << bytes;
    std::uint64_t const records = cut.file.records;
    EXPECT_GE(records, records_before) << bytes;
    EXPECT_LE(records, records_before + 1) << bytes;
    records_before = records;
    EXPECT_TRUE(contains(notes_of(cut), "the trace was cut off at byte ")) << bytes;
    EXPECT_TRUE(contains(notes_of(cut), "; " + std::to_string(records) + " whole records before that were read"))
        << bytes;
  }
  EXPECT_EQ(records_before, read(whole).file.records);
}

TEST(trace_damaged, where_a_trace_was_cut_off_is_named) {
  std::string const whole = in_many_blocks().bytes();
  EXPECT_TRUE(contains(notes_of(read(whole.substr(0, 64))), "the trace was cut off at byte 64; 0 whole records"));
  EXPECT_TRUE(contains(notes_of(read(whole.substr(0, 80))), "the trace was cut off at byte 64; 0 whole records"));
  // The header of the block has 40 bytes, and `create` has 32.
  EXPECT_TRUE(contains(notes_of(read(whole.substr(0, 135))), "the trace was cut off at byte 135; 0 whole records"));
  EXPECT_TRUE(contains(notes_of(read(whole.substr(0, 136))), "the trace was cut off at byte 136; 1 whole records"));
}

TEST(trace_damaged, a_broken_block_ends_the_reading_and_is_named) {
  auto const damage_of = [](std::string const& bytes) { return read(bytes).file.damage; };
  std::string no_block = example_trace().bytes();
  no_block[64] = 'X';
  EXPECT_EQ(
      damage_of(no_block),
      "the file is damaged in the block at byte 64: no block begins there; 0 whole records before that were read");
  std::string odd = example_trace().bytes();
  odd[64 + 8] = static_cast<char>(odd[64 + 8] + 1);
  EXPECT_TRUE(contains(damage_of(odd), "which is no multiple of 8")) << damage_of(odd);
  EXPECT_TRUE(contains(damage_of(trace_builder().block(1, 0, 0, 0, 0, {0}).bytes()), "a record has the kind 0"));
  EXPECT_TRUE(
      contains(damage_of(trace_builder().block(1, 0, 0, 0, 0, {2}).bytes()), "a record of kind 2 has the length 0"));
  EXPECT_TRUE(contains(damage_of(trace_builder().block(1, 0, 0, 0, 0, {0x302, 7}).bytes()),
                       "a record of kind 2 has 3 words, and the block ends after 2"));
  EXPECT_TRUE(contains(damage_of(trace_builder().block(4, 0, 0, 0, 0, {1, 99}).bytes()),
                       "an entry in a `sites` block is longer than the block"));
  EXPECT_TRUE(contains(damage_of(trace_builder().block(3, 0, 0, 0, 0, {1, 2}).bytes()),
                       "an entry in a `modules` block is longer than the block"));
  EXPECT_TRUE(contains(damage_of(trace_builder().block(5, 0, 0, 0, 0, {}).bytes()), "an `end` block is empty"));
  EXPECT_TRUE(contains(damage_of(trace_builder().block(2, 0, 0, 0, 0, {1}).bytes()),
                       "a `clock` block has less than two words"));
}

TEST(trace_damaged, numbers_that_claim_too_much_cost_no_memory) {
  trace_builder b;
  b.m(0, 0, ~0ULL, 3, ~0ULL)
      .s(0, 1, kind::start_world, {~0ULL})
      .s(0, 2, kind::steal, {~0ULL, ~0ULL})
      .s(0, 3, kind::take, {~0ULL});
  b.skip_block(0, 0xfffffff0).flush_all().site(~0ULL, "", "").g(0, 5, kind::create, ~0ULL, {~0ULL, ~0ULL}).end(~0ULL);
  use(read(b));
}

TEST(trace_damaged, a_header_with_more_ps_than_there_are_streams_is_refused) {
  EXPECT_EQ(why_unreadable(trace_builder({.ps = ~0U}).end().bytes()),
            "the header says that there were 4294967295 Ps when the trace began, and a trace has at most 65520");
  EXPECT_EQ(why_unreadable(trace_builder({.ps = 65521}).end().bytes()),
            "the header says that there were 65521 Ps when the trace began, and a trace has at most 65520");
  use(read(trace_builder({.ps = 65520}).end()));
}

TEST(trace_damaged, times_at_the_ends_of_their_range_do_not_overflow) {
  for (std::uint64_t const base : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63U}) {
    trace_builder b({.ticks_per_second = 1});
    b.block(1, 0, 0, base, 0, {0x401 | 500ULL << 32U, 7, serve, 0, 0x10202 | ~0ULL << 40U, 7});
    b.block(2, 0, 0, 0, 0, {base, ~std::uint64_t{0} >> 1U}).end();
    use(read(b));
  }
}

// Each round changes some bytes of a good file, or cuts pieces out, or doubles them.
TEST(trace_damaged, no_mutation_of_a_file_is_too_much) {
  std::mt19937_64 random(20);
  auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::string const good[] = {in_many_blocks().bytes(), example_trace().bytes()};
  for (int round = 0; round < 3'000; ++round) {
    std::string bytes = good[below(2)];
    for (std::size_t changes = 1 + below(6); changes > 0; --changes) {
      std::size_t const at = 16 + below(bytes.size() - 16);
      std::size_t const length = std::min(8 * (1 + below(20)), bytes.size() - at);
      switch (below(6)) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
        case 2:
          bytes.replace(at, std::min<std::size_t>(8, length), 8, static_cast<char>(below(2) == 0 ? 0 : 0xff));
          break;
        case 3: bytes.insert(at / 8 * 8, bytes.substr(at / 8 * 8, length)); break;
        case 4: bytes.erase(at / 8 * 8, length); break;
        case 5: bytes.resize(std::max<std::size_t>(at, 64)); break;
      }
      if (bytes.size() < 64) bytes.resize(64);
    }
    SCOPED_TRACE(round);
    try {
      use(read(bytes));
    } catch (command::unreadable_file const& refused) {
      EXPECT_STRNE(refused.what(), "");
    }
  }
}

TEST(trace_damaged, random_bytes_behind_a_good_header_are_named_as_damage) {
  std::mt19937_64 random(21);
  for (int round = 0; round < 200; ++round) {
    std::string bytes = trace_builder().bytes();
    for (int i = 0; i < 500; ++i) bytes += static_cast<char>(random());
    command::trace const made_up = read(bytes);
    EXPECT_TRUE(contains(made_up.file.damage, "no block begins there"));
    use(made_up);
  }
}

}  // namespace
