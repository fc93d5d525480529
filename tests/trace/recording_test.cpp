// A recording that is made from a trace: what is in the queues after each record, and the document.
#include "command/trace/recording.h"

#include "command/trace/machine.h"
#include "trace/example_trace.h"
#include "trace/json_reader.h"
#include "trace/reading.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace thrum;
using namespace thrum::test;

// Plays the trace up to this time.
command::machine played(command::trace const& from, std::int64_t until_ns, std::vector<command::machine::deed>& deeds) {
  command::machine result(from.past);
  for (command::event const& each : from.merged.events) {
    if (each.ns > until_ns) break;
    result.apply(each, deeds);
  }
  return result;
}

command::machine played(command::trace const& from, std::int64_t until_ns) {
  std::vector<command::machine::deed> deeds;
  return played(from, until_ns, deeds);
}

std::string ring_of(command::machine const& m, std::uint16_t p) {
  std::string all;
  auto const found = m.procs().find(p);
  if (found == m.procs().end()) return all;
  for (std::uint64_t const g : found->second.ring) all += std::to_string(g) + " ";
  return all;
}

using place = command::machine::place;

TEST(recording_of_a_trace, a_new_goroutine_goes_into_runnext_and_a_thief_takes_it) {
  command::trace const from = read(example_trace());
  EXPECT_EQ(played(from, 1'000).procs().at(0).next, 2U);
  command::machine const stolen = played(from, 1'500);
  EXPECT_FALSE(stolen.procs().at(0).next);
  EXPECT_EQ(ring_of(stolen, 1), "2 ");
}

TEST(recording_of_a_trace, a_goroutine_that_starts_leaves_the_queue_in_which_it_was) {
  command::trace const from = read(example_trace());
  command::machine const runs = played(from, 2'000);
  EXPECT_EQ(ring_of(runs, 1), "");
  EXPECT_EQ(runs.procs().at(1).running, 2U);
  // Main readied it into runnext of P 0, and it started on P 1.
  EXPECT_EQ(played(from, 8'000).procs().at(0).next, 2U);
  EXPECT_FALSE(played(from, 8'500).procs().at(0).next);
}

TEST(recording_of_a_trace, goroutines_wait_are_readied_and_end) {
  command::trace const from = read(example_trace());
  EXPECT_EQ(played(from, 5'000).goroutines().at(2).at, place::waiting);
  EXPECT_EQ(played(from, 10'000).global().size(), 1U);
  EXPECT_EQ(played(from, 16'000).goroutines().count(2), 0U);
}

TEST(recording_of_a_trace, a_goroutine_in_a_call_is_on_its_m_until_it_returns) {
  command::trace const from = read(example_trace());
  command::machine const calls = played(from, 17'000);
  EXPECT_EQ(calls.goroutines().at(3).at, place::in_call);
  EXPECT_EQ(calls.threads().at(2).in_call, 3U);
  EXPECT_EQ(played(from, 17'300).procs().at(1).m, 3U);
  command::machine const back = played(from, 19'000);
  EXPECT_EQ(back.procs().at(1).running, 3U);
  EXPECT_FALSE(back.threads().at(2).in_call);
}

TEST(recording_of_a_trace, a_preempted_goroutine_goes_to_the_global_queue) {
  command::machine const preempted = played(read(example_trace()), 19'500);
  ASSERT_EQ(preempted.global().size(), 1U);
  EXPECT_EQ(preempted.global().front(), 3U);
  EXPECT_TRUE(preempted.goroutines().at(3).was_preempted);
}

TEST(recording_of_a_trace, a_full_queue_sends_its_older_half_and_the_goroutine_to_the_global_queue) {
  trace_builder b;
  b.m(0, 0, 1, 3, 100).s(0, 10, kind::take, {1});
  // One is in runnext, and 256 fill the ring.
  constexpr std::uint64_t first = 2, all = 258;
  for (std::uint64_t i = 0; i < all; ++i) b.g(0, 100 + i, kind::create, first + i, {serve, 1});
  b.end();
  command::trace const from = read(b);
  std::vector<command::machine::deed> deeds;
  command::machine const full = played(from, 1'000, deeds);
  EXPECT_EQ(full.procs().at(0).next, first + all - 1);
  EXPECT_EQ(full.procs().at(0).ring.size(), command::ring_capacity / 2);
  ASSERT_EQ(full.global().size(), command::ring_capacity / 2 + 1);
  EXPECT_EQ(full.global().front(), first);
  EXPECT_EQ(full.global().back(), first + all - 2);
  EXPECT_STREQ(deeds.back().kind, "spill");
}

TEST(recording_of_a_trace, the_document_has_the_states_and_the_events) {
  command::recording const made = as_recording(read(example_trace()), "server.trace");
  EXPECT_TRUE(made.is_whole);
  json_reader const json(made.json);
  EXPECT_EQ(json.at("format"), "thrum-recording");
  EXPECT_EQ(json.at("kind"), "trace");
  EXPECT_EQ(json.at("title.en"), "server.trace");
  EXPECT_EQ(json.at("parts.0.queue_size"), "256");
  // The state before the first record: main runs on P 0.
  EXPECT_EQ(json.at("parts.0.steps.0.state.procs.0.running"), "1");
  std::string const last = "parts.0.steps." + std::to_string(made.steps - 1) + ".";
  EXPECT_EQ(json.at(last + "t"), "20000");
  EXPECT_EQ(json.at(last + "state.global.0"), "3");
  EXPECT_EQ(json.at(last + "state.waiting.1.kind"), "poller");
  EXPECT_EQ(json.at(last + "state.waiting.1.gs.0"), "1");
  EXPECT_TRUE(contains(made.json, R"({"kind":"steal","m":2,"p":1,"from":{"kind":"ring","p":0},"n":1,"gs":[2]})"))
      << made.json;
}

TEST(recording_of_a_trace, has_no_more_steps_than_asked_for) {
  command::recording const made = as_recording(read(example_trace()), "a", 3);
  EXPECT_FALSE(made.is_whole);
  EXPECT_EQ(made.steps, 4U);  // the state before them, and three steps
}

TEST(recording_of_a_trace, of_a_trace_without_records_is_a_single_step) {
  trace_builder b;
  b.end();
  command::recording const made = as_recording(read(b), "empty");
  EXPECT_EQ(made.steps, 1U);
  EXPECT_TRUE(made.is_whole);
  EXPECT_EQ(json_reader(made.json).at("parts.0.steps.0.t"), "0");
}

}  // namespace
