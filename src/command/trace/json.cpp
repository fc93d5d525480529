#include "command/trace/json.h"

#include "command/trace/json_writer.h"
#include "command/trace/text.h"

namespace thrum::command {
namespace {

void add(json_writer& out, char const* name, distribution const& of) {
  out.name(name).begin_object();
  out.member("count", of.count).member("total_ns", of.total_ns).member("p50_ns", of.p50_ns).member("p99_ns", of.p99_ns);
  out.member("worst_ns", of.worst_ns).end_object();
}

void add(json_writer& out, std::array<double, g_states> const& ns) {
  out.name("states_ns").begin_object();
  for (g_state const state :
       {g_state::running, g_state::runnable, g_state::waiting, g_state::in_call, g_state::hosting}) {
    out.member(state == g_state::in_call ? "in_call" : name_of(state), ns[static_cast<std::size_t>(state)]);
  }
  out.end_object();
}

void add_file(json_writer& out, trace const& from) {
  trace_file const& file = from.file;
  out.name("file").begin_object();
  out.member("process", std::uint64_t{file.header.process}).member("real_time_ns", file.header.real_time_ns);
  out.member("is_flight_record", file.header.is_flight_record)
      .member("is_complete", file.has_end && file.damage.empty());
  out.member("lost_events", file.lost_events).member("lost_blocks", file.lost_blocks);
  out.member("missing_records", from.past.missing_records).member("unknown_records", file.unknown_records);
  out.member("violations", from.violations().count());
  out.name("notes").begin_array();
  for (std::string const& each : from.notes()) out.value(each);
  out.end_array().end_object();
}

void add_lists(json_writer& out, summary const& numbers) {
  out.name("sites").begin_array();
  for (site_row const& each : numbers.sites) {
    out.begin_object().member("created_at", each.name).member("address", hex(each.site));
    out.member("goroutines", each.goroutines).member("slices", each.slices);
    add(out, each.ns);
    add(out, "latency", each.latency);
    add(out, "first_start", each.first_start);
    out.end_object();
  }
  out.end_array().name("longest_slices").begin_array();
  for (slice_row const& each : numbers.longest) {
    out.begin_object().member("goroutine", each.goroutine).member("name", each.name).member("ns", each.ns);
    if (each.p != no_p) out.member("p", std::uint64_t{each.p});
    out.member("begin_ns", each.begin_ns).member("until", each.ended_by).end_object();
  }
  out.end_array().name("blockers").begin_array();
  for (blocker_row const& each : numbers.blockers) {
    out.begin_object().member("reason", name_of_reason(each.reason));
    out.member("object", name_of_object(each.reason, each.object)).member("waits", each.waits);
    out.member("unfinished", each.still).member("total_ns", each.total_ns).member("longest_ns", each.longest_ns);
    out.member("longest_created_at", each.example).member("longest_goroutine", each.longest_goroutine);
    if (each.longest_holder != 0) {
      out.member("longest_holder", each.longest_holder).member("holder_created_at", each.holder);
    }
    out.end_object();
  }
  out.end_array().name("wakers").begin_array();
  for (waker_row const& each : numbers.wakers) {
    out.begin_object().member("waker", each.waker);
    if (!each.at.empty()) out.member("at", each.at);
    out.member("woken", each.woken).member("times", each.times).end_object();
  }
  out.end_array().name("ps").begin_array();
  for (p_row const& each : numbers.ps) {
    out.begin_object().member("p", std::uint64_t{each.p}).member("running_ns", each.running_ns);
    out.member("held_ns", each.held_ns).member("slices", each.slices).member("steals", each.steals);
    out.member("stolen", each.stolen).end_object();
  }
  out.end_array();
}

void add_scheduler(json_writer& out, summary const& n) {
  out.name("scheduler").begin_object();
  out.member("readied_next", n.readied_next).member("readied_tail", n.readied_tail);
  out.member("readied_global", n.readied_global).member("steals", n.steals).member("stolen", n.stolen);
  out.member("searches", n.spins).member("searches_with_work", n.spins_with_work).member("calls", n.calls);
  out.member("calls_announced_long", n.calls_announced_long).member("calls_found", n.calls_found);
  out.member("returns_without_p", n.returns_without_p).member("hand_offs_by_sysmon", n.hand_offs_by_sysmon);
  out.member("hand_offs", n.hand_offs);
  add(out, "hand_off_delay", n.hand_off_delay);
  out.member("yields", n.yields).member("preempt_requests", n.preempt_requests);
  out.member("preempted_at_channels", n.preempted_at_channels).member("preempted_in_code", n.preempted_in_code);
  add(out, "world_stops", n.world_stops);
  out.member("timers", n.timers).member("polls", n.polls).member("polled", n.polled).end_object();
}

}  // namespace

std::string as_json(trace const& from, summary const& numbers) {
  json_writer out;
  out.begin_object();
  add_file(out, from);
  out.member("duration_ns", numbers.duration_ns).member("records", numbers.records).member("ms", numbers.ms);
  out.name("goroutines").begin_object();
  out.member("all", numbers.goroutines).member("existed_before", numbers.existed_before);
  out.member("created", numbers.created).member("ended", numbers.ended).end_object();
  add(out, numbers.ns);
  add(out, "latency", numbers.latency);
  add(out, "first_start", numbers.first_start);
  add_lists(out, numbers);
  add_scheduler(out, numbers);
  out.end_object();
  return out.take();
}

}  // namespace thrum::command
