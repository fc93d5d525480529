// A recording that is made from a trace: what is in the queues after each record, and the document.
#include "command/trace/recording.h"

#include "command/trace/machine.h"
#include "trace/example_trace.h"
#include "trace/json_reader.h"
#include "trace/reading.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
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

TEST(recording_of_a_trace, a_steal_from_its_own_p_or_from_a_stream_without_a_p_moves_nothing) {
  constexpr std::uint64_t no_end = std::uint64_t{1} << 60U;
  for (std::uint64_t const victim : {0ULL, 65520ULL, 65536ULL, ~0ULL}) {
    trace_builder b;
    b.g(0, 100, kind::create, 1, {serve, 0}).g(0, 200, kind::create, 2, {serve, 0});
    b.s(0, 300, kind::steal, {victim, no_end}).end();
    std::vector<command::machine::deed> deeds;
    command::machine const after = played(read(b), 1'000, deeds);
    EXPECT_EQ(deeds.size(), 2U) << victim;
    EXPECT_EQ(ring_of(after, 0), "1 ") << victim;
    EXPECT_EQ(after.procs().at(0).next, 2U) << victim;
    EXPECT_EQ(after.procs().size(), 1U) << victim;
  }
}

TEST(recording_of_a_trace, a_goroutine_that_is_created_twice_is_in_one_place) {
  trace_builder b;
  for (std::uint64_t i = 0; i < command::ring_capacity + 4; ++i) {
    for (std::uint64_t const g : {1, 2, 3}) b.g(0, 100 + i, kind::create, g, {serve, 0});
  }
  b.end();
  command::machine const after = played(read(b), 10'000);
  EXPECT_EQ(ring_of(after, 0), "1 2 ");
  EXPECT_EQ(after.procs().at(0).next, 3U);
  EXPECT_TRUE(after.global().empty());
}

// How often each goroutine is in a queue or runs.
std::map<std::uint64_t, std::size_t> places_in(command::machine const& m) {
  std::map<std::uint64_t, std::size_t> places;
  for (std::uint64_t const g : m.global()) ++places[g];
  for (auto const& [id, p] : m.procs()) {
    for (std::uint64_t const g : p.ring) ++places[g];
    if (p.next) ++places[*p.next];
    if (p.running) ++places[*p.running];
  }
  return places;
}

bool is_queued_or_runs(command::machine::goroutine const& g) {
  return g.at == place::global || g.at == place::ring || g.at == place::next || g.at == place::running;
}

TEST(recording_of_a_trace, whatever_the_records_say_a_goroutine_is_in_one_place) {
  constexpr std::array kinds{kind::create, kind::create, kind::create,  kind::start, kind::stop,    kind::yield,
                             kind::end,    kind::ready,  kind::ready,   kind::call,  kind::return_, kind::host,
                             kind::hosted, kind::take,   kind::release, kind::m,     kind::steal,   kind::global};
  std::mt19937_64 random(35);
  auto const below = [&](std::uint64_t n) { return random() % n; };
  for (int round = 0; round < 20; ++round) {
    // Few goroutines collide often. Many fill the run queues, and a look at all of them takes long.
    bool const are_many = round % 2 != 0;
    std::uint64_t const goroutines = are_many ? 900 : 12;
    std::size_t const records_per_look = are_many ? 97 : 1;
    std::size_t applied = 0;
    trace_builder b;
    for (std::uint64_t i = 0; i < 2'000; ++i) {
      auto const stream = static_cast<std::uint16_t>(below(20) == 0 ? 0xfff1 : below(3));
      auto const detail = static_cast<std::uint8_t>(below(4));
      auto const what = kinds[below(kinds.size())];
      if (what == kind::m) {
        b.m(stream, i, below(4), detail);
      } else if (what >= kind::take) {
        b.s(stream, i, what, {below(4), below(8)}, detail);
      } else {
        b.g(stream, i, what, 1 + below(goroutines), {below(goroutines), below(goroutines)}, detail);
      }
    }
    b.end();
    command::trace const from = read(b);
    ASSERT_EQ(from.merged.events.size(), 2'000U);
    command::machine plays(from.past);
    std::vector<command::machine::deed> deeds;
    for (command::event const& each : from.merged.events) {
      plays.apply(each, deeds);
      if (++applied % records_per_look != 0) continue;
      std::map<std::uint64_t, std::size_t> const places = places_in(plays);
      for (auto const& [g, of] : plays.goroutines()) {
        auto const found = places.find(g);
        std::size_t const times = found == places.end() ? 0 : found->second;
        ASSERT_EQ(times, is_queued_or_runs(of) ? 1U : 0U) << "goroutine " << g << " in round " << round;
      }
      for (auto const& [id, p] : plays.procs()) ASSERT_LE(p.ring.size(), command::ring_capacity) << "P " << id;
    }
  }
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
