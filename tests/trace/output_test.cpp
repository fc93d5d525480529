// The summary as text and as JSON, and the picture.
#include "command/trace/json.h"
#include "command/trace/print_summary.h"
#include "command/trace/summarise.h"
#include "command/trace/svg.h"
#include "trace/example_trace.h"
#include "trace/json_reader.h"
#include "trace/reading.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace thrum;
using namespace thrum::test;

json_reader json_of(trace_builder const& from) {
  command::trace const of = read(from);
  return json_reader(command::as_json(of, command::summarise(of, 10)));
}

std::string printed(trace_builder const& from) {
  command::trace const of = read(from);
  return command::printed(of, command::summarise(of, 10));
}

// What is wrong with the XML, or nothing. It knows elements, attributes, texts and the five named entities.
std::optional<std::string> fault_of_xml(std::string_view xml) {
  std::vector<std::string> open;
  std::size_t at = 0;
  std::size_t roots = 0;
  while (at < xml.size()) {
    if (xml[at] == '&') {
      std::size_t const end = xml.find(';', at);
      std::string_view const entity = xml.substr(at + 1, end == std::string_view::npos ? 0 : end - at - 1);
      if (entity != "amp" && entity != "lt" && entity != "gt" && entity != "quot" && entity != "apos")
        return "an entity";
    }
    if (xml[at] == '>') return "a bracket in a text";
    if (xml[at] != '<') {
      if (open.empty() && std::isspace(static_cast<unsigned char>(xml[at])) == 0) return "text outside of the root";
      ++at;
      continue;
    }
    std::size_t const end = xml.find('>', at);
    if (end == std::string_view::npos) return "a tag without end";
    std::string_view tag = xml.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.find('<') != std::string_view::npos || std::count(tag.begin(), tag.end(), '"') % 2 != 0)
      return "a tag in a tag";
    if (tag.starts_with("/")) {
      if (open.empty() || open.back() != tag.substr(1)) return "an end without beginning: " + std::string(tag);
      open.pop_back();
      continue;
    }
    if (open.empty()) ++roots;
    if (!tag.ends_with("/")) open.emplace_back(tag.substr(0, tag.find(' ')));
  }
  if (roots != 1) return "not one root";
  return open.empty() ? std::nullopt : std::optional("an element is open: " + open.back());
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

TEST(trace_output, the_json_is_valid_and_has_the_numbers) {
  json_reader const json = json_of(example_trace());
  EXPECT_EQ(json.at("duration_ns"), "20000");
  EXPECT_EQ(json.at("goroutines.created"), "2");
  EXPECT_EQ(json.at("latency.p99_ns"), "4000");
  EXPECT_EQ(json.at("sites.1.created_at"), "serve (server.cpp:40)");
  EXPECT_EQ(json.at("sites.1.states_ns.running"), "6000");
  EXPECT_EQ(json.at("blockers.0.reason"), "chan_receive");
  EXPECT_EQ(json.at("wakers.0.times"), "2");
  EXPECT_EQ(json.at("ps.1.running_ns"), "7000");
  EXPECT_EQ(json.at("scheduler.hand_off_delay.worst_ns"), "200");
  EXPECT_EQ(json.at("file.is_complete"), "true");
}

TEST(trace_output, names_with_quotes_and_broken_bytes_give_valid_json_and_xml) {
  trace_builder b;
  b.g(0, 0, kind::create, 7, {serve, 0})
      .g_text(0, 1, kind::name, {7}, "\"<&>\\ \x01 \xff")
      .g(0, 2, kind::start, 7)
      .g(0, 900, kind::end, 7);
  b.flush_all().site(serve, "f<\"&\\\n>", "x.cpp:1").end();
  EXPECT_EQ(json_of(b).at("longest_slices.0.goroutine"), "7");
  std::string const svg = command::as_svg(read(b));
  EXPECT_EQ(fault_of_xml(svg), std::nullopt) << svg;
}

TEST(trace_output, an_empty_trace_gives_valid_output) {
  EXPECT_EQ(json_of(trace_builder().end()).at("records"), "0");
  EXPECT_EQ(fault_of_xml(command::as_svg(read(trace_builder().end()))), std::nullopt);
  EXPECT_TRUE(contains(printed(trace_builder().end()), "0 goroutines"));
}

TEST(trace_output, the_text_has_a_part_for_each_question) {
  std::string const text = printed(example_trace());
  for (char const* const part :
       {"Scheduling latency", "Time by state", "Longest time slices", "What goroutines waited for", "Who readied whom",
        "steals", "hand-offs", "preemptions", "descriptor 5, reading", "serve (server.cpp:40)",
        "P 1    [##################......"}) {
    EXPECT_TRUE(contains(text, part)) << part << " is not in\n" << text;
  }
}

TEST(trace_output, what_is_missing_is_said_first) {
  std::string const text = printed(example_records().flush_all());
  EXPECT_LT(text.find("note: the trace was cut off at byte "), text.find("Scheduling latency")) << text;
}

TEST(trace_output, the_picture_is_well_formed_and_has_lanes_slices_axis_and_legend) {
  std::string const svg = command::as_svg(read(example_trace()));
  EXPECT_EQ(fault_of_xml(svg), std::nullopt) << svg;
  EXPECT_TRUE(contains(svg, ">P 0</text>"));
  EXPECT_TRUE(contains(svg, ">P 1</text>"));
  EXPECT_EQ(count(svg, "<title>"), 6U) << svg;  // one slice on P 0 and five on P 1
  EXPECT_TRUE(contains(svg, "goroutine 3, the log &quot;writer&quot; &lt;1&gt;, 500 ns"));
  EXPECT_TRUE(contains(svg, ">20.0 us</text>"));
  EXPECT_TRUE(contains(svg, ">serve (server.cpp:40)</text>"));
}

TEST(trace_output, the_picture_of_a_long_trace_stays_small) {
  trace_builder b;
  for (std::uint16_t p = 0; p < 70; ++p) {
    std::uint64_t const g = 100 + p;
    b.g(p, 0, kind::create, g, {serve + g % 20, 0});
    for (std::uint64_t i = 0; i < 400; ++i) b.g(p, 10 + i * 10, kind::start, g).g(p, 15 + i * 10, kind::yield, g);
  }
  std::string const svg = command::as_svg(read(b.end()));
  EXPECT_EQ(fault_of_xml(svg), std::nullopt);
  EXPECT_LT(count(svg, "<rect"), 10'200U);
  EXPECT_TRUE(contains(svg, "6 more Ps are left out"));
  EXPECT_TRUE(contains(svg, ">10 other places</text>"));
}

}  // namespace
