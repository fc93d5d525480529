// The language of scenarios: what a text means, and what is said about one that is none.
#include "command/play/parse.h"

#include <chrono>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace thrum::command;
using namespace std::chrono_literals;

// "line:column: message", or "" if the text is a scenario.
std::string error_of(std::string_view text) {
  try {
    static_cast<void>(parse_scenario(text));
  } catch (scenario_error const& error) {
    return std::to_string(error.at.line) + ':' + std::to_string(error.at.column) + ": " + error.what();
  }
  return "";
}

statement single_statement(std::string const& text) {
  scenario const made = parse_scenario("channel c; mutex m; go a { " + text + " }");
  return made.bodies.at(0).statements.at(0);
}

TEST(parse, a_scenario_has_settings_channels_mutexes_and_goroutines) {
  scenario const made = parse_scenario(
      "procs 2\nqueue 8   # a comment: { } 'ä'\nlimit 1500ms\n\nchannel orders 3; channel done\nmutex m\n"
      "go worker x3 {\n  recv orders\n}\ngo main { go worker x2; send orders }\ngo main x2\n");
  EXPECT_EQ(made.procs, 2);
  EXPECT_EQ(made.queue, 8);
  EXPECT_EQ(made.limit, 1500ms);
  ASSERT_EQ(made.channels.size(), 2U);
  EXPECT_EQ(made.channels[0].name, "orders");
  EXPECT_EQ(made.channels[0].capacity, 3);
  EXPECT_EQ(made.channels[1].capacity, 0);
  EXPECT_EQ(made.mutexes, std::vector<std::string>{"m"});
  ASSERT_EQ(made.bodies.size(), 2U);
  EXPECT_EQ(made.bodies[0].name, "worker");
  EXPECT_EQ(made.bodies[1].statements.at(0).target, 0U);
  EXPECT_EQ(made.bodies[1].statements.at(0).count, 2);
  ASSERT_EQ(made.starts.size(), 3U);
  EXPECT_EQ(made.starts[0].count, 3);
  EXPECT_EQ(made.starts[2].body, 1U);
  EXPECT_EQ(made.starts[2].count, 2);
  ASSERT_EQ(made.lines.size(), 11U);
  EXPECT_EQ(made.lines[7], "  recv orders");
}

TEST(parse, without_settings_the_machine_is_that_of_the_scenes) {
  scenario const made = parse_scenario("go a { }");
  EXPECT_EQ(made.procs, 4);
  EXPECT_EQ(made.queue, 4);
  EXPECT_EQ(made.limit, 5s);
}

TEST(parse, each_statement_has_its_arguments_its_position_and_its_text) {
  EXPECT_EQ(single_statement("send c").what, verb::send);
  EXPECT_EQ(single_statement("recv c").what, verb::recv);
  EXPECT_EQ(single_statement("close c").what, verb::close);
  EXPECT_EQ(single_statement("yield").what, verb::yield);
  EXPECT_EQ(single_statement("block").what, verb::block);
  EXPECT_EQ(single_statement("spin 20us").duration, 20us);
  EXPECT_EQ(single_statement("sleep 10s").duration, 10s);
  EXPECT_EQ(single_statement("sleep 1ns").duration, 1ns);
  EXPECT_EQ(single_statement("syscall 5ms").call, call_kind::may_be_short);
  EXPECT_EQ(single_statement("syscall 5ms short").call, call_kind::may_be_short);
  EXPECT_EQ(single_statement("syscall 5ms long").call, call_kind::long_call);
  EXPECT_EQ(single_statement("syscall 5ms unannounced").call, call_kind::unannounced);
  statement const repeat = single_statement("repeat   3 { lock m { yield } ; yield }");
  EXPECT_EQ(repeat.what, verb::repeat);
  EXPECT_EQ(repeat.count, 3);
  EXPECT_EQ(repeat.text, "repeat 3");
  EXPECT_EQ(repeat.at.line, 1);
  EXPECT_EQ(repeat.at.column, 28);
  ASSERT_EQ(repeat.block.size(), 2U);
  EXPECT_EQ(repeat.block[0].what, verb::lock);
  EXPECT_EQ(repeat.block[0].block.at(0).what, verb::yield);
}

TEST(parse, names_may_be_used_before_they_are_declared_and_may_be_words_of_the_language) {
  scenario const made =
      parse_scenario("go go { send recv; go later }\ngo later x0 { lock lock { } }\nchannel recv\nmutex lock\n");
  EXPECT_EQ(made.bodies.at(0).name, "go");
  EXPECT_EQ(made.bodies.at(1).name, "later");
  EXPECT_EQ(made.starts.size(), 1U) << "x0 starts none";
}

TEST(parse, lines_may_end_as_in_dos_and_the_last_one_need_not_end) {
  EXPECT_EQ(parse_scenario("procs 2\r\ngo a {\r\n\tspin 1ms\r\n}").lines.at(2), "  spin 1ms");
}

struct mistake {
  char const* text;
  char const* error;
};

TEST(parse, a_mistake_is_told_with_its_place_what_was_expected_and_a_remedy) {
  for (mistake const& each : std::vector<mistake>{
           {"", "1:1: expected a goroutine, found the end of the file; write one: go main { spin 1ms }"},
           {"procs 0", "1:7: expected the number of Ps, found \"0\"; write a whole number from 1 to 64"},
           {"procs -1", "1:7: expected the number of Ps, found \"-1\"; write a whole number from 1 to 64"},
           {"procs\ngo a { }",
            "1:6: expected the number of Ps, found the end of the line; write a whole number from 1 to 64"},
           {"queue 5",
            "1:7: expected the size of a run queue, found \"5\"; write a power of two: 4, 8, 16, 32, 64, 128 "
            "or 256"},
           {"queue 4; queue 4",
            "1:10: expected another setting, found \"queue\"; this one is set already, so remove one "
            "of the two"},
           {"limit 61s",
            "1:7: expected the time that the scenario may take, found \"61s\"; write more than 0 and at "
            "most 60 s"},
           {"threads 4",
            "1:1: expected a setting or a goroutine, found \"threads\"; write procs, queue, limit, channel, "
            "mutex or go"},
           {"go a {\n  spinn 5ms\n}",
            "2:3: expected a statement, found \"spinn\"; write go, send, recv, close, lock, "
            "spin, sleep, syscall, yield, block or repeat"},
           {"go a { spin 5 }",
            "1:13: expected a duration, found \"5\"; write a whole number and ns, us, ms or s without "
            "a blank between them, such as 5ms"},
           {"go a { sleep 0ms }", "1:14: expected a duration, found \"0ms\"; write more than 0 and at most 10 s"},
           {"go a { sleep 1.5s }",
            "1:14: expected a duration, found \"1.5s\"; write a whole number and ns, us, ms or s "
            "without a blank between them, such as 5ms"},
           {"go a { syscall 1s slow }",
            "1:19: expected the kind of the call, found \"slow\"; write short, long or "
            "unannounced, or nothing"},
           {"go a { send order }\nchannel orders",
            "1:13: expected the name of a channel, found \"order\"; declare it: channel NAME"},
           {"go a { go b }", "1:11: expected the name of a goroutine, found \"b\"; declare it: go NAME { ... }"},
           {"go a { lock m { } }", "1:13: expected the name of a mutex, found \"m\"; declare it: mutex NAME"},
           {"go a { }\ngo a { }",
            "2:4: expected a new name, found \"a\"; this one is declared already, so choose "
            "another one"},
           {"go 1a { }",
            "1:4: expected the name of a goroutine, found \"1a\"; a name has at most 32 letters, digits, - "
            "and _, and begins with a letter or _"},
           {"go a { yield yield }",
            "1:14: expected the end of the statement, found \"yield\"; end the line, or write a "
            "semicolon"},
           {"go a { yield",
            "1:13: expected \"}\", found the end of the file; the block that begins at line 1 is not "
            "closed"},
           {"go a x { }", "1:6: expected the end of the statement, found \"x\"; end the line, or write a semicolon"},
           {"go a\n{ }",
            "2:1: expected a setting or a goroutine, found \"{\"; write procs, queue, limit, channel, mutex "
            "or go"},
           {"go a x0 { }", "1:12: expected a goroutine, found the end of the file; write one: go main { spin 1ms }"},
           {"go a x0 { }; go a x0",
            "1:19: expected the number of goroutines, found \"x0\"; write a whole number from 1 "
            "to 1000"},
           {"go a x900 { }; go b x101 { }", "1:19: expected at most 1000 goroutines, found \"b\"; start fewer"},
           {"go a { repeat 10001 { } }",
            "1:15: expected how often, found \"10001\"; write a whole number from 1 to "
            "10000"},
           {"go a { repeat 2 }", "1:17: expected \"{\", found \"}\"; a block stands between { and }"},
           {"go a { } }", "1:10: expected the end of the statement, found \"}\"; end the line, or write a semicolon"},
           {"go a { send \"c\" }", "1:13: expected a statement, found \"\"\"; write it behind a # if it is a comment"},
       }) {
    EXPECT_EQ(error_of(each.text), each.error) << each.text;
  }
}

TEST(parse, huge_numbers_are_out_of_bounds_and_do_not_overflow) {
  std::string const digits(50'000, '9');
  EXPECT_EQ(error_of("procs 18446744073709551617"),
            "1:7: expected the number of Ps, found \"18446744073709551617\"; write a whole number from 1 to 64");
  EXPECT_EQ(error_of("procs " + digits), "1:7: expected the number of Ps, found \"" + std::string(40, '9') +
                                             "...\"; write a whole number from 1 to 64");
  EXPECT_EQ(error_of("go a { spin " + digits + "s }").substr(0, 35), "1:13: expected a duration, found \"9");
  EXPECT_EQ(error_of("go a { go a x" + digits + " }").substr(0, 34), "1:13: expected the number of gorou");
}

TEST(parse, nul_bytes_and_other_control_characters_are_refused_also_in_comments) {
  EXPECT_EQ(error_of(std::string_view("go a {\0}", 8)),
            "1:7: expected a statement, found the byte 0x00; a scenario is a text, so remove it");
  EXPECT_EQ(error_of(std::string_view("# a\0b\ngo a { }", 14)),
            "1:4: expected a statement, found the byte 0x00; a scenario is a text, so remove it");
  EXPECT_EQ(error_of("go a { }\n\x1b[31m"),
            "2:1: expected a statement, found the byte 0x1b; a scenario is a text, so remove it");
  EXPECT_EQ(error_of("go \xc3\xa4 { }"),
            "1:4: expected a statement, found the byte 0xc3; write it behind a # if it is a comment");
}

TEST(parse, bytes_that_are_no_utf_8_are_replaced_where_the_text_is_shown) {
  EXPECT_EQ(parse_scenario("go a { } # \xff").lines.at(0), "go a { } # \xef\xbf\xbd");
}

TEST(parse, blocks_are_nested_to_a_bounded_depth) {
  auto const nested = [](std::size_t depth) {
    std::string text = "go a { ";
    for (std::size_t i = 1; i < depth; ++i) text += "repeat 1 { ";
    for (std::size_t i = 0; i < depth; ++i) text += " }";
    return text;
  };
  EXPECT_EQ(error_of(nested(8)), "");
  EXPECT_EQ(error_of(nested(9)), "1:94: expected at most 8 blocks in each other, found \"{\"; take one out");
  EXPECT_NE(error_of(nested(4'000)), "");
}

TEST(parse, a_text_that_is_too_long_is_refused_before_it_is_read) {
  EXPECT_EQ(error_of(std::string(1 << 20, 'x')),
            "1:1: expected a scenario of at most 65536 bytes, found more; make it shorter");
  EXPECT_NE(error_of(std::string(65'536, 'x')), "");
  EXPECT_NE(error_of(std::string(65'536, '{')), "");
  EXPECT_NE(error_of(std::string(65'536, ';')), "");
}

TEST(parse, the_names_of_each_kind_are_bounded) {
  std::string text;
  for (int i = 0; i < 64; ++i) text += "channel c" + std::to_string(i) + "\n";
  EXPECT_EQ(error_of(text + "go a { }"), "");
  EXPECT_EQ(error_of(text + "channel more"),
            "65:9: expected at most 64 names of this kind, found \"more\"; remove one");
}

// Any text is a scenario or has a mistake with a place in it.
TEST(parse, random_texts_of_its_words_are_read_or_refused) {
  std::vector<std::string> const words{"go ",      "a ",     "{",     "}",       ";",   "\n",    "x3 ",
                                       "channel ", "c ",     "send ", "5ms",     "ms ", "spin ", "lock ",
                                       "99 ",      "procs ", "#",     "repeat ", "-",   "\t"};
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::size_t n = random() % 30; n > 0; --n) text += words[random() % words.size()];
    try {
      scenario const made = parse_scenario(text);
      EXPECT_FALSE(made.starts.empty()) << text;
      EXPECT_EQ(made.starts.front().body < made.bodies.size(), true) << text;
    } catch (scenario_error const& error) {
      EXPECT_GE(error.at.line, 1);
      EXPECT_GE(error.at.column, 1);
      EXPECT_LE(error.at.column, static_cast<int>(text.size()) + 1);
      EXPECT_NE(std::string(error.what()).find("; "), std::string::npos) << error.what();
    }
  }
}

}  // namespace
