// The statistics in Prometheus' text form, and the document that lists them.
#include "support/exposition.h"
#include "support/run_at.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <chrono>
#include <clocale>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::exposition_metric;
using test::exposition_reader;
using test::exposition_sample;

std::string all_faults(exposition_reader const& read) {
  std::string text;
  for (std::string const& each : read.faults()) text += each + '\n';
  return text;
}

std::string text_of(std::string const& path) {
  std::ifstream file(THRUM_SOURCE_DIR + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> all_matches(std::string const& text, char const* expression) {
  std::set<std::string> found;
  std::regex const pattern(expression);
  for (std::sregex_iterator at(text.begin(), text.end(), pattern); at != std::sregex_iterator(); ++at) {
    found.insert((*at)[1].str());
  }
  return found;
}

// --- the reader ---

TEST(exposition_reader, finds_what_is_wrong) {
  auto const faults = [](std::string_view text) { return exposition_reader(text).faults().size(); };
  std::string const head = "# HELP a Help.\n# TYPE a gauge\n";
  EXPECT_EQ(faults(head + "a 1\n"), 0U);
  EXPECT_EQ(faults(head + "a{x=\"1\",y=\"\\\\ \\\" \\n\"} 1e-3\na{x=\"2\"} -Inf\n"), 0U);
  for (char const* const sample : {"a 1",
                                   "a\n",
                                   "a  1\n",
                                   "a x\n",
                                   "a 0x1\n",
                                   "a 1 \n",
                                   "1a 1\n",
                                   "b 1\n",
                                   "a{} 1\na 1\n",
                                   "a{x=1} 1\n",
                                   "a{x=\"1\",} 1\n",
                                   "a{x=\"1\",x=\"2\"} 1\n",
                                   "a{__x=\"1\"} 1\n",
                                   "a{x=\"\\t\"} 1\n",
                                   "a{x=\"1\" 1\n",
                                   "a NaN\n",
                                   "\n",
                                   "# comment\n",
                                   "# TYPE a gauge\n",
                                   "# HELP a Again.\n# TYPE a gauge\n",
                                   "# HELP b B.\n"}) {
    EXPECT_NE(faults(head + sample), 0U) << sample;
  }
  EXPECT_NE(faults("# HELP a A.\n# TYPE a counter\na 1\n"), 0U) << "without _total";
  EXPECT_NE(faults("# HELP a_total A.\n# TYPE a_total gauge\na_total 1\n"), 0U);
  EXPECT_NE(faults("# HELP a_total A.\n# TYPE a_total counter\na_total -1\n"), 0U);
  EXPECT_NE(faults("# HELP a A.\n# TYPE a thing\na 1\n"), 0U);
  EXPECT_NE(faults("# TYPE a gauge\na 1\n"), 0U) << "without HELP";
}

TEST(exposition_reader, finds_what_is_wrong_in_a_histogram) {
  auto const faults = [](std::string const& samples) {
    return exposition_reader("# HELP h H.\n# TYPE h histogram\n" + samples).faults().size();
  };
  std::string const sum = "h_sum 5\n";
  std::string const first = "h_bucket{le=\"1\"} 2\n";
  std::string const last = "h_bucket{le=\"+Inf\"} 3\n";
  EXPECT_EQ(faults(first + last + sum + "h_count 3\n"), 0U);
  EXPECT_NE(faults(first + last + sum + "h_count 2\n"), 0U);
  EXPECT_NE(faults(first + last + "h_count 3\n"), 0U);
  EXPECT_NE(faults(first + sum + "h_count 2\n"), 0U);
  EXPECT_NE(faults(last + first + sum + "h_count 3\n"), 0U);
  EXPECT_NE(faults("h_bucket{le=\"1\"} 4\n" + last + sum + "h_count 3\n"), 0U);
  EXPECT_NE(faults("h_bucket 2\n" + last + sum + "h_count 3\n"), 0U);
  EXPECT_NE(faults(first + last + sum + "h_count 3\nh 3\n"), 0U);
}

// --- the writer ---

TEST(prometheus, the_figures_of_a_run_are_written_as_the_format_asks) {
  test::run_at(4, [] {
    wait_group all;
    chan<int> c;
    for (int i = 0; i < 100; ++i) all.go([&] { static_cast<void>(c.recv()); });
    for (int i = 0; i < 100; ++i) c.send(i);
    all.wait();
    static_cast<void>(set_max_procs(3));
    stats const now = read_stats();
    exposition_reader const read(prometheus_text(now));
    EXPECT_TRUE(read.faults().empty()) << all_faults(read) << prometheus_text(now);
    EXPECT_EQ(read.value_of("thrum_goroutines_created_total"), 101.0);
    EXPECT_EQ(read.value_of("thrum_goroutines", "state", "running"), 1.0);
    EXPECT_EQ(read.value_of("thrum_procs"), 3.0);
    EXPECT_EQ(read.value_of("thrum_run_queue_length", "proc", "3"), -1.0) << "it is out of use";
    EXPECT_EQ(read.value_of("thrum_world_stopping_seconds_count"), static_cast<double>(now.stopping_took.count));
    EXPECT_GE(now.stopping_took.count, 1U);
    for (exposition_metric const& metric : read.metrics())
      EXPECT_TRUE(metric.name.starts_with("thrum_")) << metric.name;
  });
}

TEST(prometheus, no_figure_at_all_is_well_formed_too) {
  exposition_reader const read(prometheus_text({}));
  EXPECT_TRUE(read.faults().empty()) << all_faults(read);
}

TEST(prometheus, a_histogram_is_cumulative_and_in_seconds) {
  stats some;
  auto const add = [&](std::chrono::nanoseconds time, std::uint64_t count) {
    std::size_t bucket = durations::buckets - 1;
    while (durations::lower_edge(bucket) > time) --bucket;
    some.ready_to_run.by_time[bucket] += count;
    some.ready_to_run.count += count;
    some.ready_to_run.total += time * count;
    some.ready_to_run.longest = std::max(some.ready_to_run.longest, time);
  };
  add(100ns, 1);
  add(300ns, 2);
  add(1s, 4);
  add(100h, 8);
  exposition_reader const read(prometheus_text(some));
  EXPECT_TRUE(read.faults().empty()) << all_faults(read);
  auto const below = [&](char const* edge) { return read.value_of("thrum_ready_to_run_seconds_bucket", "le", edge); };
  EXPECT_EQ(below("2.56e-07"), 1.0);
  EXPECT_EQ(below("5.12e-07"), 3.0);
  EXPECT_EQ(below("0.536870912"), 3.0);
  EXPECT_EQ(below("1.073741824"), 7.0);
  EXPECT_EQ(below("68.719476736"), 7.0) << "the last edge";
  EXPECT_EQ(below("+Inf"), 15.0);
  EXPECT_EQ(read.value_of("thrum_ready_to_run_seconds_count"), 15.0);
  EXPECT_DOUBLE_EQ(read.value_of("thrum_ready_to_run_seconds_sum"), 100e-9 + 600e-9 + 4 + 8 * 360'000.0);
  EXPECT_EQ(read.value_of("thrum_ready_to_run_seconds_longest"), 360'000.0);
}

TEST(prometheus, each_count_of_the_ps_is_summed_up_and_none_is_left_out) {
  stats some;
  std::uint64_t next = 1000;
  proc_stats p;
  std::vector<double> expected;
  for (std::uint64_t* const member :
       {&p.created,         &p.ended,    &p.switches_direct, &p.switches_via_g0, &p.stack_handovers,
        &p.joined_in_place, &p.parks,    &p.readies,         &p.yields,          &p.overflows,
        &p.global_takes,    &p.steals,   &p.stolen,          &p.wakes,           &p.spins,
        &p.timers_run,      &p.polls,    &p.syscalls,        &p.handed_off,      &p.returns_to_idle,
        &p.returns_queued,  &p.preempted}) {
    *member = next++;
    expected.push_back(2 * static_cast<double>(*member));
  }
  p.spinning_ns = 3'000'000'000;
  expected.push_back(6);
  some.procs = {p, p};
  exposition_reader const read(prometheus_text(some));
  std::multiset<double> values;
  for (exposition_metric const& metric : read.metrics()) {
    for (exposition_sample const& sample : metric.samples) values.insert(sample.value);
  }
  for (double const value : expected) EXPECT_EQ(values.count(value), 1U) << value;
}

TEST(prometheus, a_place_of_a_call_is_named) {
  stats some;
  some.unannounced_calls = {{.system_call = 100'000, .caller = reinterpret_cast<void const*>(0x1234), .count = 5},
                            {.system_call = -1, .caller = nullptr, .count = 6}};
  exposition_reader const read(prometheus_text(some));
  EXPECT_TRUE(read.faults().empty()) << all_faults(read);
  EXPECT_EQ(read.value_of("thrum_unannounced_call_places_total", "caller", "0x1234"), 5.0);
  EXPECT_EQ(read.value_of("thrum_unannounced_call_places_total", "system_call", "-1"), 6.0);
}

TEST(prometheus, the_locale_changes_nothing) {
  stats some;
  some.stopped_for = {.count = 1, .total = 1500ms, .longest = 1500ms, .by_time = {}};
  std::string const before = prometheus_text(some);
  std::string const locale = std::setlocale(LC_ALL, nullptr);
  for (char const* const name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) == nullptr) continue;
    EXPECT_EQ(prometheus_text(some), before) << name;
  }
  std::setlocale(LC_ALL, locale.c_str());
}

// --- the document ---

TEST(stats_document, names_each_member_and_each_metric) {
  std::string const header = text_of("/include/thrum/stats.h");
  std::string const document = text_of("/docs/stats.md");
  std::string const written = prometheus_text({});
  ASSERT_FALSE(header.empty());
  ASSERT_FALSE(document.empty());
  auto const struct_of = [&](std::string const& name) {
    std::size_t const begin = header.find("struct " + name + " {");
    return header.substr(begin, header.find("\n};", begin) - begin);
  };
  auto const in_document = all_matches(document, "\n\\| `([a-z_0-9]+)` \\|");
  for (char const* const name : {"proc_stats", "stats", "wait_stats"}) {
    auto const members = all_matches(
        struct_of(name), "\n  [a-z_:0-9]+(?:<[a-z_, ]+>)?(?: const\\*)? ([a-z_0-9]+)(?: = [^;]+|\\{.*\\})?;");
    EXPECT_GE(members.size(), name == std::string_view("wait_stats") ? 3U : 20U) << name;
    for (std::string const& member : members) EXPECT_TRUE(in_document.contains(member)) << name << "::" << member;
  }
  auto const metrics = all_matches(written, "# TYPE ([a-z_0-9]+) ");
  auto const named = all_matches(document, "`(thrum_[a-z_0-9]+)");
  for (std::string const& metric : metrics) {
    std::string const histogram = metric.substr(0, metric.find("_longest"));
    EXPECT_TRUE(named.contains(histogram)) << metric << " is not in docs/stats.md";
  }
  for (std::string const& metric : named) EXPECT_TRUE(metrics.contains(metric)) << metric << " does not exist";
}

}  // namespace
}  // namespace thrum
