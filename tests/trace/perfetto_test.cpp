// The trace in Perfetto's format, read back with the classes that protoc generates.
#ifdef THRUM_HAS_PERFETTO
#include "command/trace/perfetto.h"

#include "command/trace/perfetto.pb.h"
#include "trace/example_trace.h"
#include "trace/reading.h"

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace thrum;
using namespace thrum::test;
namespace pb = thrum::command::perfetto;

pb::Trace perfetto_of(trace_builder const& from) {
  std::ostringstream out;
  command::write_perfetto(read(from), out);
  pb::Trace trace;
  EXPECT_TRUE(trace.ParseFromString(out.str()));
  return trace;
}

std::map<std::uint64_t, std::string> tracks_of(pb::Trace const& trace) {
  std::map<std::uint64_t, std::string> tracks;
  for (pb::TracePacket const& each : trace.packet()) {
    if (each.has_track_descriptor()) tracks[each.track_descriptor().uuid()] = each.track_descriptor().name();
  }
  return tracks;
}

std::uint64_t track_named(pb::Trace const& trace, std::string const& name) {
  for (auto const& [uuid, its_name] : tracks_of(trace)) {
    if (its_name == name) return uuid;
  }
  return 0;
}

// "name@begin-end" of the slices of a track, in nanoseconds since the beginning.
std::vector<std::string> slices_of(pb::Trace const& trace, std::string const& track) {
  std::vector<std::string> slices;
  std::string open;
  std::uint64_t const uuid = track_named(trace, track);
  for (pb::TracePacket const& each : trace.packet()) {
    if (!each.has_track_event() || each.track_event().track_uuid() != uuid) continue;
    std::string const at = std::to_string(static_cast<std::int64_t>(each.timestamp()) - trace_builder::begin_ns);
    if (each.track_event().type() == pb::TrackEvent::TYPE_SLICE_BEGIN) open = each.track_event().name() + "@" + at;
    if (each.track_event().type() == pb::TrackEvent::TYPE_SLICE_END) slices.push_back(open + "-" + at);
  }
  return slices;
}

// The rules by which Perfetto accepts a file.
void expect_well_formed(pb::Trace const& trace) {
  std::set<std::uint64_t> described;
  for (pb::TracePacket const& each : trace.packet()) {
    if (!each.has_track_descriptor()) continue;
    EXPECT_NE(each.track_descriptor().uuid(), 0U);
    EXPECT_TRUE(described.insert(each.track_descriptor().uuid()).second) << "a track is described twice";
    if (each.track_descriptor().has_parent_uuid()) {
      EXPECT_TRUE(described.contains(each.track_descriptor().parent_uuid()))
          << "the parent of a track is described before it";
    }
  }
  std::map<std::uint64_t, std::uint64_t> last;
  std::map<std::uint64_t, int> depth;
  std::set<std::uint64_t> begun, ended;
  for (pb::TracePacket const& each : trace.packet()) {
    EXPECT_EQ(each.trusted_packet_sequence_id(), 1U);
    if (!each.has_track_event()) continue;
    pb::TrackEvent const& event = each.track_event();
    EXPECT_TRUE(described.contains(event.track_uuid())) << event.track_uuid();
    EXPECT_GE(each.timestamp(), last[event.track_uuid()]);
    last[event.track_uuid()] = each.timestamp();
    if (event.type() == pb::TrackEvent::TYPE_SLICE_BEGIN) ++depth[event.track_uuid()];
    if (event.type() == pb::TrackEvent::TYPE_SLICE_END) {
      EXPECT_GE(--depth[event.track_uuid()], 0);
    }
    EXPECT_EQ(event.type() == pb::TrackEvent::TYPE_COUNTER, event.has_counter_value());
    for (std::uint64_t const flow : event.flow_ids()) EXPECT_TRUE(begun.insert(flow).second) << "a flow begins once";
    for (std::uint64_t const flow : event.terminating_flow_ids()) {
      EXPECT_TRUE(begun.contains(flow)) << "a flow begins before it ends";
      EXPECT_TRUE(ended.insert(flow).second) << "a flow ends once";
    }
  }
  EXPECT_EQ(begun, ended) << "each flow has a beginning and an end";
  for (auto const& [track, open] : depth) EXPECT_EQ(open, 0) << "every slice ends on track " << track;
}

TEST(trace_perfetto, S35_the_trace_opens_in_perfetto) {
  pb::Trace const trace = perfetto_of(example_trace());
  expect_well_formed(trace);
  ASSERT_GT(trace.packet_size(), 0);
  EXPECT_EQ(trace.packet(0).sequence_flags(), 1U) << "the first packet begins the state of its writer";
  EXPECT_EQ(trace.packet(0).track_descriptor().process().pid(), 4711);
}

TEST(trace_perfetto, S35_there_is_a_track_for_each_p_m_and_goroutine) {
  pb::Trace const trace = perfetto_of(example_trace());
  for (char const* const name : {"P 0", "P 1", "M 1", "M 2", "M 3", "2 serve", "3 the log \"writer\" <1>"}) {
    EXPECT_NE(track_named(trace, name), 0U) << name;
  }
  EXPECT_EQ(slices_of(trace, "2 serve"),
            (std::vector<std::string>{"runnable@1000-2000", "running@2000-5000", "waiting: chan_receive@5000-8000",
                                      "runnable@8000-8500", "running@8500-9500", "waiting: chan_receive@9500-10000",
                                      "runnable@10000-14000", "running@14000-16000"}));
  EXPECT_EQ(slices_of(trace, "P 0"), (std::vector<std::string>{"1 (before the trace)@0-20000"}));
  EXPECT_EQ(slices_of(trace, "P 1").size(), 5U);
  EXPECT_EQ(slices_of(trace, "M 3"), (std::vector<std::string>{"awake@17300-20000"}));
  EXPECT_EQ(slices_of(trace, "regions"), (std::vector<std::string>{"rotate@19100-19300"}));
}

TEST(trace_perfetto, S35_an_arrow_leads_from_the_waker_to_the_woken) {
  pb::Trace const trace = perfetto_of(example_trace());
  std::uint64_t const main_track = track_named(trace, "1 (before the trace)");
  std::uint64_t const serve_track = track_named(trace, "2 serve");
  std::vector<std::int64_t> from, to;
  for (pb::TracePacket const& each : trace.packet()) {
    if (each.track_event().flow_ids_size() != 0) {
      EXPECT_EQ(each.track_event().track_uuid(), main_track);
      from.push_back(static_cast<std::int64_t>(each.timestamp()) - trace_builder::begin_ns);
    }
    if (each.track_event().terminating_flow_ids_size() != 0) {
      EXPECT_EQ(each.track_event().track_uuid(), serve_track);
      EXPECT_EQ(each.track_event().name(), "running");
      to.push_back(static_cast<std::int64_t>(each.timestamp()) - trace_builder::begin_ns);
    }
  }
  EXPECT_EQ(from, (std::vector<std::int64_t>{8'000, 10'000}));
  EXPECT_EQ(to, (std::vector<std::int64_t>{8'500, 14'000}));
}

TEST(trace_perfetto, S35_counters_show_how_many_are_runnable_search_or_are_in_calls) {
  pb::Trace const trace = perfetto_of(example_trace());
  auto const values_of = [&](std::string const& name) {
    std::vector<std::int64_t> values;
    for (pb::TracePacket const& each : trace.packet()) {
      if (each.track_event().track_uuid() == track_named(trace, name))
        values.push_back(each.track_event().counter_value());
    }
    return values;
  };
  EXPECT_EQ(values_of("goroutines in calls"), (std::vector<std::int64_t>{0, 1, 0}));
  EXPECT_EQ(values_of("Ms that search for work"), (std::vector<std::int64_t>{0, 1, 0}));
  EXPECT_EQ(values_of("runnable goroutines"), (std::vector<std::int64_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}));
}

// "name: value" of the annotations of all events with this name.
std::vector<std::string> annotations_of(pb::Trace const& trace, std::string const& name) {
  std::vector<std::string> found;
  for (pb::TracePacket const& each : trace.packet()) {
    if (each.track_event().name() != name) continue;
    for (pb::DebugAnnotation const& one : each.track_event().debug_annotations())
      found.push_back(one.name() + ": " + one.string_value());
  }
  return found;
}

TEST(trace_perfetto, S35_a_wait_for_a_lock_names_the_object_and_the_holder) {
  trace_builder b;
  b.g(0, 0, kind::create, 7, {serve, 0}).g(0, 1, kind::start, 7).g(0, 2, kind::create, 8, {serve, 0});
  b.g(1, 3, kind::start, 8).g(1, 4, kind::holder, 8, {7}).g(1, 5, kind::stop, 8, {0x7f00}, reason_mutex);
  b.g(0, 9, kind::ready, 8, {7, in_main}).g(0, 10, kind::end, 7).site(serve, "serve", "a.cpp:1").end();
  pb::Trace const trace = perfetto_of(b);
  expect_well_formed(trace);
  EXPECT_EQ(annotations_of(trace, "waiting: mutex"), (std::vector<std::string>{"object: 0x7f00", "held by: 7 serve"}));
}

TEST(trace_perfetto, S35_a_task_is_a_slice_on_a_track_of_its_own) {
  trace_builder b;
  b.g(0, 5, kind::create, 7, {serve, 0}).g(0, 5, kind::start, 7).g(0, 6, kind::create, 8, {serve, 7});
  b.g_text(0, 10, kind::task, {7, 41}, "request").g_text(0, 11, kind::task, {7, 40}, "", 1);
  b.g_text(0, 12, kind::log, {7, 41}, "parsed").g(1, 15, kind::start, 8).g_text(1, 20, kind::task, {8, 41}, "", 1);
  b.g_text(1, 21, kind::task, {8, 41}, "", 1).g_text(1, 25, kind::task, {8, 42}, "never ends");
  b.g(1, 30, kind::end, 8).site(serve, "serve", "a.cpp:1").end();
  pb::Trace const trace = perfetto_of(b);
  expect_well_formed(trace);
  EXPECT_EQ(slices_of(trace, "task 41"), (std::vector<std::string>{"request@10-20"}));
  EXPECT_EQ(slices_of(trace, "task 42"), (std::vector<std::string>{"never ends@25-30"}));
  EXPECT_EQ(slices_of(trace, "task 40"), (std::vector<std::string>{"task 40@0-11"})) << "it began before the trace";
  EXPECT_EQ(annotations_of(trace, "request"), (std::vector<std::string>{"begun by: 7 serve"}));
}

TEST(trace_perfetto, a_ready_without_a_start_has_no_arrow) {
  trace_builder b;
  b.g(0, 0, kind::stop, 7, {0}, 1).g(0, 10, kind::ready, 7, {0, 0}).end();
  pb::Trace const trace = perfetto_of(b);
  expect_well_formed(trace);
  for (pb::TracePacket const& each : trace.packet()) EXPECT_EQ(each.track_event().flow_ids_size(), 0);
}

TEST(trace_perfetto, records_at_one_time_and_open_regions_are_well_formed_too) {
  trace_builder b;
  b.g(0, 5, kind::create, 7, {serve, 0}).g(0, 5, kind::start, 7).g_text(0, 5, kind::region, {7}, "never ends");
  b.g(0, 5, kind::stop, 7, {0}, 1).g(0, 5, kind::ready, 7, {7, 0}).g(0, 5, kind::start, 7);
  b.g_text(0, 5, kind::region, {7}, "nested").g_text(0, 6, kind::log, {7, 0}, "").end();
  expect_well_formed(perfetto_of(b));
}

TEST(trace_perfetto, an_empty_trace_is_well_formed) { expect_well_formed(perfetto_of(trace_builder().end())); }

}  // namespace
#endif
