// What the goroutines of a scenario do, as the trace of their run tells it.
#include "command/play/run.h"

#include "base/platform.h"
#include "command/play/parse.h"
#include "support/child.h"
#include "support/slices.h"
#include "support/watchdog.h"
#include "trace/recorded.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace thrum;
using command::ending;
using command::record_kind;

constexpr std::uint8_t reason_mutex = 2, reason_wait_group = 3, reason_sleep = 7, reason_send = 8, reason_receive = 9;

class playing : public testing::Test {
 protected:
  playing() { test::start_watchdog(); }

  void play(std::string const& text) {
    test::file_for_trace const file;
    how_ = command::perform(command::parse_scenario(text), file.name());
    trace_ = file.read();
    EXPECT_EQ("", test::violations_of(trace_));
  }

  // The number of the only goroutine with this name.
  [[nodiscard]] std::uint64_t number_of(std::string const& name) const {
    std::uint64_t found = 0;
    for (command::goroutine_life const& each : trace_.past.goroutines) {
      if (each.name != name) continue;
      EXPECT_EQ(found, 0U) << name << " is there twice";
      found = each.number;
    }
    EXPECT_NE(found, 0U) << "there is no " << name;
    return found;
  }

  [[nodiscard]] std::vector<command::event> events_of(std::string const& name, record_kind kind) const {
    std::uint64_t const number = number_of(name);
    std::vector<command::event> found = test::events_of(trace_, kind);
    std::erase_if(found, [&](command::event const& each) { return each.what->argument(0) != number; });
    return found;
  }

  // How often the goroutine with this name stopped for this reason.
  [[nodiscard]] std::size_t stops(std::string const& name, std::uint8_t reason) const {
    auto const all = events_of(name, record_kind::stop);
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](command::event const& each) { return each.what->detail == reason; }));
  }

  [[nodiscard]] std::size_t begun(std::string const& label) const {
    auto const texts = test::logged(trace_);
    return static_cast<std::size_t>(std::count(texts.begin(), texts.end(), label));
  }

  command::performance how_{};
  command::trace trace_{};
};

TEST_F(playing, go_starts_goroutines_which_their_starter_has_created) {
  play("go main { go child x3 }; go child x0 { }");
  EXPECT_EQ(how_.how, ending::finished);
  EXPECT_EQ(how_.why, "");
  std::uint64_t const parent = number_of("main");
  std::size_t children = 0;
  for (command::event const& each : test::events_of(trace_, record_kind::create)) {
    if (each.what->argument(2) == parent) ++children;
  }
  EXPECT_EQ(children, 3U);
  EXPECT_EQ(test::events_of(trace_, record_kind::end).size(), 4U);
  EXPECT_LE(stops("scenario", reason_wait_group), 1U) << "it waits, unless all have ended already";
}

TEST_F(playing, settings_are_those_of_the_run) {
  test::with_own_procs const fixed;
  play("procs 3; go a { }");
  EXPECT_EQ(trace_.file.header.ps, 3U);
}

TEST_F(playing, send_and_recv_meet_without_a_buffer) {
  play("channel c; go a { send c }; go b { recv c }");
  EXPECT_EQ(how_.how, ending::finished);
  std::size_t const waits = stops("a", reason_send) + stops("b", reason_receive);
  EXPECT_EQ(waits, 1U) << "the one that comes first waits";
}

TEST_F(playing, a_buffer_takes_as_many_elements_as_it_has_room_for) {
  play("channel c 2; go a { send c; send c }");
  EXPECT_EQ(how_.how, ending::finished);
  EXPECT_EQ(stops("a", reason_send), 0U);
  play("channel c 2\ngo a {\n  send c; send c\n  send c\n}");
  EXPECT_EQ(how_.how, ending::deadlock);
  EXPECT_EQ(stops("a", reason_send), 1U);
  ASSERT_EQ(how_.still_there.size(), 1U);
  EXPECT_NE(how_.still_there[0].find(" a, line 4: send c"), std::string::npos) << how_.still_there[0];
}

TEST_F(playing, close_lets_all_receivers_go_on) {
  play("channel c; go a x3 { recv c; recv c }; go b { close c }");
  EXPECT_EQ(how_.how, ending::finished);
}

TEST_F(playing, lock_waits_for_a_goroutine_that_holds_the_mutex) {
  play("channel c; mutex m; go a { lock m { go b; recv c } }; go b x0 { lock m { } }");
  EXPECT_EQ(how_.how, ending::deadlock);
  EXPECT_EQ(stops("b", reason_mutex), 1U);
  EXPECT_EQ(stops("a", reason_receive), 1U);
}

TEST_F(playing, the_end_of_the_block_of_lock_unlocks) {
  play("mutex m; go a x4 { repeat 20 { lock m { yield } } }");
  EXPECT_EQ(how_.how, ending::finished);
}

TEST_F(playing, spin_computes_for_that_long_at_least) {
  play("procs 1; go a { spin 20ms }");
  command::event const begin = events_of("a", record_kind::log).at(0);
  command::event const end = events_of("a", record_kind::end).at(0);
  EXPECT_GE(end.ns - begin.ns, 20'000'000);
  EXPECT_EQ(events_of("a", record_kind::stop).size(), 0U);
}

TEST_F(playing, a_goroutine_that_spins_for_longer_than_a_slice_makes_room_for_others) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer defers signals";
  test::with_own_procs const fixed;
  play("procs 1; go a { spin 100ms }; go b { spin 100ms }");
  EXPECT_GE(events_of("a", record_kind::yield).size() + events_of("b", record_kind::yield).size(), 1U);
}

TEST_F(playing, sleep_waits_for_a_timer) {
  play("go a { sleep 3ms }");
  ASSERT_EQ(stops("a", reason_sleep), 1U);
  command::event const stop = events_of("a", record_kind::stop).at(0);
  command::event const start = events_of("a", record_kind::start).at(1);
  EXPECT_GE(start.ns - stop.ns, 2'000'000) << "the time before the stop counts for the sleep, too";
  EXPECT_EQ(events_of("a", record_kind::ready).at(0).what->argument(1), 0U) << "no goroutine has readied it";
}

TEST_F(playing, syscall_announces_a_call_of_its_kind) {
  play("go a { syscall 2ms }; go b { syscall 2ms long }");
  ASSERT_EQ(events_of("a", record_kind::call).size(), 1U);
  EXPECT_EQ(events_of("a", record_kind::call)[0].what->detail, 0);
  ASSERT_EQ(events_of("b", record_kind::call).size(), 1U);
  EXPECT_EQ(events_of("b", record_kind::call)[0].what->detail, 1);
}

TEST_F(playing, sysmon_finds_a_call_that_is_not_announced) {
  if (test::emulated()) GTEST_SKIP() << "the emulator's threads do not show where they sleep";
  test::with_own_procs const fixed;
  play("procs 1; go a { go b; syscall 1s unannounced }; go b x0 { }");
  ASSERT_EQ(events_of("a", record_kind::call).size(), 1U);
  EXPECT_EQ(events_of("a", record_kind::call)[0].what->detail, 2);
}

TEST_F(playing, yield_lets_another_goroutine_run) {
  test::in_run_order const order;
  play("procs 1; go a { go b; yield }; go b x0 { }");
  EXPECT_EQ(events_of("a", record_kind::yield).size(), 1U);
}

TEST_F(playing, block_waits_for_ever) {
  play("go a { block; spin 1ms }");
  EXPECT_EQ(how_.how, ending::deadlock);
  EXPECT_EQ(stops("a", reason_receive), 1U);
  EXPECT_EQ(begun("1:15"), 0U) << "what follows is never begun";
}

TEST_F(playing, repeat_does_its_block_as_often_as_it_says) {
  play("go a { repeat 3 { repeat 4 { yield } } }");
  EXPECT_EQ(begun("1:8"), 1U);
  EXPECT_EQ(begun("1:19"), 3U);
  EXPECT_EQ(begun("1:30"), 12U);
}

TEST_F(playing, a_full_run_queue_overflows_at_the_size_that_was_set) {
  test::in_run_order const order;
  play("procs 1; queue 4; go main { go child x6 }; go child x0 { }");
  std::vector<command::event> const lengths = test::events_of(trace_, record_kind::global);
  EXPECT_TRUE(std::any_of(lengths.begin(), lengths.end(), [](command::event const& each) {
    return each.what->argument(0) == 3;
  })) << "the older half of four, and the one that was kicked out of runnext";
}

// --- how a scenario ends ---

TEST_F(playing, a_deadlock_is_told_and_the_run_ends) {
  play("channel a; channel b\ngo x { recv a; send b }\ngo y { recv b; send a }");
  EXPECT_EQ(how_.how, ending::deadlock);
  EXPECT_EQ(how_.why, "deadlock: no goroutine that is left can ever run again");
  ASSERT_EQ(how_.still_there.size(), 2U);
  EXPECT_NE(how_.still_there[0].find(" x, line 2: recv a"), std::string::npos) << how_.still_there[0];
}

TEST_F(playing, two_goroutines_that_lock_two_mutexes_in_other_orders_are_found_and_left_behind) {
  play(
      "mutex m; mutex n; channel c; channel d\n"
      "go x { lock m { send c; recv d; lock n { } } }\n"
      "go y { lock n { recv c; send d; lock m { } } }\n");
  EXPECT_EQ(how_.how, ending::deadlock);
  EXPECT_EQ(how_.still_there.size(), 2U);
}

TEST_F(playing, goroutines_that_wait_for_each_other_all_the_time_are_no_deadlock) {
  play(
      "limit 60s; channel a; channel b\n"
      "go x x4 { repeat 1000 { send a; recv b } }\n"
      "go y x4 { repeat 1000 { recv a; send b } }\n");
  EXPECT_EQ(how_.how, ending::finished) << how_.why;
}

TEST_F(playing, a_goroutine_that_sleeps_or_is_in_the_kernel_will_go_on_so_there_is_no_deadlock) {
  play("channel c; go a { recv c; recv c }; go b { sleep 50ms; send c }; go d { syscall 50ms; send c }");
  EXPECT_EQ(how_.how, ending::finished) << how_.why;
}

TEST_F(playing, the_time_of_a_scenario_is_bounded) {
  std::string const scenario = "go a { sleep 10s }; go b { repeat 100 { spin 1s } }; channel c; go d { recv c }";
  play("limit 20ms; " + scenario);
  EXPECT_EQ(how_.how, ending::time_limit);
  EXPECT_EQ(how_.why, "the scenario has reached its time limit of 20.0 ms");
  if (how_.still_there.size() < 3) play("limit 5s; " + scenario);  // the machine was too busy to start them in time
  EXPECT_EQ(how_.still_there.size(), 3U);
}

TEST_F(playing, the_number_of_goroutines_is_bounded) {
  play("limit 60s; go a { go a x2 }");
  EXPECT_EQ(how_.how, ending::too_many_goroutines);
  EXPECT_EQ(how_.why, "the scenario has started 1000 goroutines, which is the limit");
}

TEST_F(playing, the_number_of_statements_is_bounded) {
  play("limit 60s; go a { repeat 10000 { repeat 10000 { yield } } }");
  EXPECT_EQ(how_.how, ending::too_many_statements);
  EXPECT_EQ(how_.why, "the goroutines have begun 20000 statements, which is the limit");
}

TEST_F(playing, a_mistake_with_a_closed_channel_ends_the_scenario) {
  play("channel c\ngo a { close c; send c; spin 1ms }");
  EXPECT_EQ(how_.how, ending::fault);
  EXPECT_EQ(how_.why, "G" + std::to_string(number_of("a")) + " a has sent on the channel c at line 2, which is closed");
  play("channel c\ngo a { close c; close c }");
  EXPECT_EQ(how_.how, ending::fault);
  EXPECT_EQ(how_.why,
            "G" + std::to_string(number_of("a")) + " a has closed the channel c at line 2, which was closed already");
}

TEST_F(playing, a_trace_that_cannot_be_written_is_an_error) {
  EXPECT_THROW(static_cast<void>(command::perform(command::parse_scenario("go a { }"), "/nowhere/at/all")),
               std::system_error);
}

}  // namespace
