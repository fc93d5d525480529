// The numbers of the summary, on a trace for which they were computed by hand (example_trace.h).
#include "command/trace/print_summary.h"
#include "command/trace/summarise.h"
#include "trace/example_trace.h"
#include "trace/reading.h"

#include <gtest/gtest.h>

namespace {

using namespace thrum;
using namespace thrum::test;
using command::g_state;

command::summary summary_of(trace_builder const& from, std::size_t rows = 10) {
  return command::summarise(read(from), rows);
}

double ns_of(std::array<double, command::g_states> const& ns, g_state state) {
  return ns[static_cast<std::size_t>(state)];
}

command::site_row const& row_of(command::summary const& in, std::uint64_t site) {
  for (command::site_row const& each : in.sites) {
    if (each.site == site) return each;
  }
  throw std::out_of_range("no such site");
}

TEST(trace_summary, percentiles_are_taken_by_nearest_rank) {
  command::distribution const none = command::distribution_of({});
  EXPECT_EQ(none.count, 0U);
  EXPECT_EQ(none.worst_ns, 0);
  command::distribution const one = command::distribution_of({7});
  EXPECT_EQ(one.p50_ns, 7);
  EXPECT_EQ(one.p99_ns, 7);
  command::distribution const four = command::distribution_of({40, 10, 30, 20});
  EXPECT_EQ(four.p50_ns, 20);
  EXPECT_EQ(four.p99_ns, 40);
  EXPECT_EQ(four.total_ns, 100);
  std::vector<std::int64_t> hundred;
  for (int i = 1; i <= 200; ++i) hundred.push_back(i);
  EXPECT_EQ(command::distribution_of(hundred).p50_ns, 100);
  EXPECT_EQ(command::distribution_of(hundred).p99_ns, 198);
  EXPECT_EQ(command::distribution_of(hundred).worst_ns, 200);
}

TEST(trace_summary, goroutines_and_the_duration_are_counted) {
  command::summary const of = summary_of(example_trace());
  EXPECT_EQ(of.duration_ns, 20'000);
  EXPECT_EQ(of.goroutines, 3U);
  EXPECT_EQ(of.existed_before, 1U);
  EXPECT_EQ(of.created, 2U);
  EXPECT_EQ(of.ended, 1U);
  EXPECT_EQ(of.ms, 3U);
}

TEST(trace_summary, the_latency_is_from_ready_to_start) {
  command::summary const of = summary_of(example_trace());
  command::distribution const& latency = row_of(of, serve).latency;
  EXPECT_EQ(latency.count, 2U);
  EXPECT_EQ(latency.p50_ns, 500);
  EXPECT_EQ(latency.p99_ns, 4'000);
  EXPECT_EQ(latency.worst_ns, 4'000);
  EXPECT_EQ(of.latency.count, 2U);
  EXPECT_EQ(of.first_start.count, 2U);
  EXPECT_EQ(of.first_start.p50_ns, 1'000);
  EXPECT_EQ(of.first_start.worst_ns, 1'500);
  EXPECT_EQ(row_of(of, log_writer).latency.count, 0U);
}

TEST(trace_summary, the_times_by_state_and_site_add_up) {
  command::summary const of = summary_of(example_trace());
  command::site_row const& server = row_of(of, serve);
  EXPECT_EQ(server.name, "serve (server.cpp:40)");
  EXPECT_EQ(ns_of(server.ns, g_state::running), 6'000);
  EXPECT_EQ(ns_of(server.ns, g_state::runnable), 5'500);
  EXPECT_EQ(ns_of(server.ns, g_state::waiting), 3'500);
  EXPECT_EQ(server.slices, 3U);
  command::site_row const& writer = row_of(of, log_writer);
  EXPECT_EQ(ns_of(writer.ns, g_state::running), 1'000);
  EXPECT_EQ(ns_of(writer.ns, g_state::in_call), 2'000);
  EXPECT_EQ(ns_of(writer.ns, g_state::runnable), 2'000);
  EXPECT_EQ(of.sites.front().name, "(before the trace)");
  EXPECT_EQ(ns_of(of.sites.front().ns, g_state::running), 20'000);
}

TEST(trace_summary, the_longest_slices_come_first_with_what_ended_them) {
  command::summary const of = summary_of(example_trace(), 3);
  ASSERT_EQ(of.longest.size(), 3U);
  EXPECT_EQ(of.longest[0].goroutine, 1U);
  EXPECT_EQ(of.longest[0].ns, 20'000);
  EXPECT_STREQ(of.longest[0].ended_by, "io");
  EXPECT_EQ(of.longest[1].goroutine, 2U);
  EXPECT_EQ(of.longest[1].ns, 3'000);
  EXPECT_EQ(of.longest[1].begin_ns, 2'000);
  EXPECT_EQ(of.longest[1].p, 1U);
  EXPECT_STREQ(of.longest[1].ended_by, "chan_receive");
  EXPECT_STREQ(of.longest[2].ended_by, "end");
}

TEST(trace_summary, what_goroutines_waited_for_is_summed_by_reason_and_object) {
  command::summary const of = summary_of(example_trace());
  ASSERT_EQ(of.blockers.size(), 2U);
  EXPECT_EQ(of.blockers[0].reason, reason_chan_receive);
  EXPECT_EQ(of.blockers[0].object, channel);
  EXPECT_EQ(of.blockers[0].waits, 2U);
  EXPECT_EQ(of.blockers[0].total_ns, 3'500);
  EXPECT_EQ(of.blockers[0].longest_ns, 3'000);
  EXPECT_EQ(of.blockers[0].still, 0U);
  EXPECT_EQ(of.blockers[0].example, "serve (server.cpp:40)");
  EXPECT_EQ(of.blockers[1].still, 1U);
  EXPECT_EQ(command::name_of_object(of.blockers[1].reason, of.blockers[1].object), "descriptor 5, reading");
}

TEST(trace_summary, the_longest_wait_for_a_lock_names_who_waited_and_who_held_it) {
  trace_builder b;
  b.g(0, 0, kind::create, 3, {serve, 0}).g(0, 1, kind::start, 3);
  for (std::uint64_t const waiter : {7U, 8U}) {
    b.g(1, 10 * waiter, kind::create, waiter, {log_writer, 0}).g(1, 10 * waiter + 1, kind::start, waiter);
    b.g(1, 10 * waiter + 2, kind::holder, waiter, {3})
        .g(1, 10 * waiter + 3, kind::stop, waiter, {0x7f00}, reason_mutex);
  }
  b.g(0, 100, kind::ready, 8, {3, in_main}).g(0, 1'000, kind::ready, 7, {3, in_main});
  b.site(serve, "serve", "a.cpp:1").site(log_writer, "log_writer", "a.cpp:2").site(in_main, "main", "a.cpp:3").end();
  command::summary const of = summary_of(b);
  ASSERT_EQ(of.blockers.size(), 1U);
  EXPECT_EQ(of.blockers[0].longest_goroutine, 7U);
  EXPECT_EQ(of.blockers[0].longest_ns, 927);
  EXPECT_EQ(of.blockers[0].longest_holder, 3U);
  EXPECT_EQ(of.blockers[0].holder, "serve (a.cpp:1)");
  command::trace const read_back = read(b);
  std::string const text = command::printed(read_back, of);
  EXPECT_TRUE(contains(text,
                       "the longest by goroutine 7, created at log_writer (a.cpp:2); goroutine 3, created at serve "
                       "(a.cpp:1), held it\n"))
      << text;
  EXPECT_TRUE(contains(text, "serve (a.cpp:1) at main (a.cpp:3) -> log_writer (a.cpp:2)")) << text;
}

TEST(trace_summary, who_readied_whom_is_counted) {
  command::summary const of = summary_of(example_trace());
  ASSERT_EQ(of.wakers.size(), 1U);
  EXPECT_EQ(of.wakers[0].waker, "(before the trace)");
  EXPECT_EQ(of.wakers[0].at, "main (server.cpp:12)");
  EXPECT_EQ(of.wakers[0].woken, "serve (server.cpp:40)");
  EXPECT_EQ(of.wakers[0].times, 2U);
}

TEST(trace_summary, the_scheduler_s_own_events_are_counted) {
  command::summary const of = summary_of(example_trace());
  EXPECT_EQ(of.readied_next, 1U);
  EXPECT_EQ(of.readied_global, 1U);
  EXPECT_EQ(of.steals, 1U);
  EXPECT_EQ(of.stolen, 1U);
  EXPECT_EQ(of.spins, 1U);
  EXPECT_EQ(of.spins_with_work, 1U);
  EXPECT_EQ(of.calls, 1U);
  EXPECT_EQ(of.calls_announced_long, 1U);
  EXPECT_EQ(of.hand_offs, 1U);
  EXPECT_EQ(of.hand_off_delay.worst_ns, 200);
  EXPECT_EQ(of.hand_offs_by_sysmon, 0U);
  EXPECT_EQ(of.preempt_requests, 1U);
  EXPECT_EQ(of.preempted_in_code, 1U);
  EXPECT_EQ(of.world_stops.count, 1U);
  EXPECT_EQ(of.world_stops.worst_ns, 100);
}

TEST(trace_summary, each_p_is_as_busy_as_its_goroutines_run) {
  command::summary const of = summary_of(example_trace());
  ASSERT_EQ(of.ps.size(), 2U);
  EXPECT_EQ(of.ps[0].running_ns, 20'000);
  EXPECT_EQ(of.ps[0].held_ns, 19'990);
  EXPECT_EQ(of.ps[1].running_ns, 7'000);
  EXPECT_EQ(of.ps[1].held_ns, 17'180 + 2'700);
  EXPECT_EQ(of.ps[1].slices, 5U);
  EXPECT_EQ(of.ps[1].steals, 1U);
}

TEST(trace_summary, an_empty_trace_has_an_empty_summary) {
  command::summary const of = summary_of(trace_builder().end());
  EXPECT_EQ(of.duration_ns, 0);
  EXPECT_TRUE(of.sites.empty());
  EXPECT_TRUE(of.ps.empty());
}

}  // namespace
