#include "command/trace/perfetto.h"

#include "command/trace/names.h"
#include "command/trace/perfetto.pb.h"
#include "command/trace/perfetto_tracks.h"
#include "command/trace/text.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace thrum::command {
namespace {

using ull = unsigned long long;
using event_type = perfetto::TrackEvent;

// All packets are of one writer, whose state begins with the first packet.
constexpr std::uint32_t sequence = 1;
constexpr std::uint32_t incremental_state_cleared = 1;

class perfetto_writer {
 public:
  perfetto_writer(trace const& from, std::ostream& to)
      : from_(from), past_(from.past), names_(from.file, from.past), to_(to) {}

  void write() {
    describe_tracks();
    add_goroutines();
    add_ms();
    add_instants();
    end_regions();
    end_tasks();
    add_counters();
    write_events();
  }

 private:
  // An event that is not written yet. The begin and the end of a slice are two of them.
  struct pending {
    std::int64_t ns;
    event_type::Type type;
    std::uint64_t track;
    std::string name;
    std::int64_t counter = 0;
    std::uint64_t flow_from = 0, flow_to = 0;
    std::vector<std::pair<std::string, std::string>> annotations{};  // names and values
  };
  // A task, which goroutines may hand on to each other, has a track of its own with one slice.
  struct open_task {
    std::uint64_t track = 0;
    bool has_begun = false;  // in the trace
    bool has_ended = false;
  };

  // ---- tracks

  void describe(std::uint64_t uuid, std::uint64_t parent, std::string name, bool is_counter = false) {
    perfetto::TracePacket packet;
    if (uuid == tracks::process) packet.set_sequence_flags(incremental_state_cleared);
    perfetto::TrackDescriptor& track = *packet.mutable_track_descriptor();
    track.set_uuid(uuid);
    if (parent != 0) track.set_parent_uuid(parent);
    if (uuid == tracks::process) {
      track.mutable_process()->set_pid(static_cast<std::int32_t>(from_.file.header.process));
      track.mutable_process()->set_process_name(std::move(name));
    } else {
      track.set_name(std::move(name));
    }
    if (is_counter) track.mutable_counter()->set_unit(perfetto::CounterDescriptor::UNIT_COUNT);
    write_packet(std::move(packet));
  }

  void describe_tracks() {
    describe(tracks::process, 0, "a program with thrum");
    describe(tracks::runnable, tracks::process, "runnable goroutines", true);
    describe(tracks::spinning, tracks::process, "Ms that search for work", true);
    describe(tracks::in_calls, tracks::process, "goroutines in calls", true);
    describe(tracks::global_queue, tracks::process, "global queue", true);
    describe(tracks::world, tracks::process, "the scheduler");
    describe(tracks::ps, tracks::process, "Ps");
    for (auto const& [number, each] : from_.file.streams) {
      if (number < first_stream_without_p) describe(tracks::of_p(number), tracks::ps, text("P %u", number));
    }
    describe(tracks::ms, tracks::process, "Ms");
    for (m_interval const& each : past_.m_intervals) {
      auto const [found, is_new] = place_of_m_.try_emplace(each.m, place_of_m_.size());
      if (is_new) describe(tracks::of_m(found->second), tracks::ms, text("M %llu", ull{each.m}));
    }
    describe(tracks::goroutines, tracks::process, "goroutines");
    for (std::size_t i = 0; i < past_.goroutines.size(); ++i) {
      goroutine_life const& each = past_.goroutines[i];
      describe(tracks::of_goroutine(i), tracks::goroutines,
               text("%llu ", ull{each.number}) + names_.of_goroutine(each));
    }
  }

  // ---- events

  void add_slice(std::uint64_t track, std::int64_t begin, std::int64_t end, std::string name) {
    events_.push_back({begin, event_type::TYPE_SLICE_BEGIN, track, std::move(name)});
    events_.push_back({end, event_type::TYPE_SLICE_END, track, {}});
  }

  [[nodiscard]] static std::string name_of_slice(g_interval const& each) {
    if (each.state != g_state::waiting) return name_of(each.state);
    return each.begun_by == record_kind::stop ? std::string("waiting: ") + name_of_reason(each.detail) : "waiting";
  }

  // "7 serve"
  [[nodiscard]] std::string name_with_number(std::uint64_t goroutine) {
    goroutine_life const* const found = past_.find(goroutine);
    return text("%llu", ull{goroutine}) + (found == nullptr ? "" : " " + names_.of_goroutine(*found));
  }

  // A goroutine's own track has all its states, and that of the P the slices in which it runs.
  void add_goroutines() {
    for (g_interval const& each : past_.intervals) {
      if (each.begun_by == record_kind::ready && each.ended_by == record_kind::start) add_begin_of_flow(each);
      add_slice(tracks::of_goroutine(each.goroutine), each.begin, each.end, name_of_slice(each));
      if (each.state == g_state::running)
        events_[events_.size() - 2].flow_to = std::exchange(arriving_flow_[each.goroutine], 0);
      if (each.state == g_state::waiting && each.begun_by == record_kind::stop && each.object != 0) {
        events_[events_.size() - 2].annotations.emplace_back("object", name_of_object(each.detail, each.object));
      }
      if (each.holder != 0)
        events_[events_.size() - 2].annotations.emplace_back("held by", name_with_number(each.holder));
      if (each.state == g_state::running && each.p != no_p) slices_on_ps_.push_back(&each);
    }
    // The slices of one P may overlap a little, because the counters of processors differ. A track cannot show that.
    std::stable_sort(slices_on_ps_.begin(), slices_on_ps_.end(), [](auto a, auto b) { return a->begin < b->begin; });
    std::map<std::uint16_t, std::int64_t> used_until;
    for (g_interval const* const each : slices_on_ps_) {
      auto const found = used_until.try_emplace(each->p, each->begin).first;
      std::int64_t const begin = std::max(each->begin, found->second);
      found->second = std::max(begin, each->end);
      goroutine_life const& goroutine = past_.goroutines[each->goroutine];
      add_slice(tracks::of_p(each->p), begin, found->second,
                text("%llu ", ull{goroutine.number}) + names_.of_goroutine(goroutine));
    }
  }

  // An arrow leads from the place where a goroutine is readied to the slice in which it runs next. Without such a slice
  // there is none. The beginning of the arrow is added before that slice, so it is also before it in the file.
  void add_begin_of_flow(g_interval const& each) {
    goroutine_life const* const waker = past_.find(each.object);
    std::uint64_t const track = waker == nullptr ? std::uint64_t{tracks::world} : track_of(*waker);
    pending instant{each.begin, event_type::TYPE_INSTANT, track,
                    text("readies %llu", ull{past_.goroutines[each.goroutine].number})};
    instant.flow_from = ++flows_;
    if (each.site != 0) instant.annotations.emplace_back("at", from_.file.name_of_site(each.site));
    arriving_flow_[each.goroutine] = flows_;
    events_.push_back(std::move(instant));
  }

  void add_ms() {
    for (m_interval const& each : past_.m_intervals) {
      add_slice(tracks::of_m(place_of_m_.at(each.m)), each.begin, each.end, name_of_m_state(each.state));
      if (each.thread == 0) continue;
      events_[events_.size() - 2].annotations.emplace_back("thread", text("%llu", ull{each.thread}));
    }
  }

  [[nodiscard]] std::uint64_t track_of(goroutine_life const& goroutine) const {
    return tracks::of_goroutine(static_cast<std::uint64_t>(&goroutine - past_.goroutines.data()));
  }

  void add_instant(event const& now, std::uint64_t track, std::string name) {
    events_.push_back({now.ns, event_type::TYPE_INSTANT, track, std::move(name)});
  }

  [[nodiscard]] static std::uint64_t track_of_stream(record const& one) {
    return one.stream < first_stream_without_p ? tracks::of_p(one.stream) : std::uint64_t{tracks::world};
  }

  void add_instants() {
    for (event const& now : from_.merged.events) {
      record const& one = *now.what;
      switch (one.kind) {
        case record_kind::steal:
          add_instant(now, track_of_stream(one),
                      text("steals %llu from P %llu", ull{one.argument(1)}, ull{one.argument(0)}));
          break;
        case record_kind::preempt:
          add_instant(now, tracks::world, text("asks M %llu to yield", ull{one.argument(0)}));
          break;
        case record_kind::timers:
          add_instant(now, track_of_stream(one), text("%llu timers fire", ull{one.argument(0)}));
          break;
        case record_kind::poll:
          add_instant(now, track_of_stream(one), text("the poller finds %llu", ull{one.argument(0)}));
          break;
        case record_kind::stop_world:
        case record_kind::world_stopped:
        case record_kind::start_world: add_instant(now, tracks::world, format_of(one.kind)->name); break;
        case record_kind::region: add_region(now); break;
        case record_kind::task: add_task(now); break;
        case record_kind::log: add_message(now); break;
        default: break;
      }
    }
  }

  void add_message(event const& now) {
    record const& one = *now.what;
    goroutine_life const* const goroutine = past_.find(one.argument(0));
    add_instant(now, goroutine == nullptr ? std::uint64_t{tracks::world} : track_of(*goroutine), "log: " + one.text());
    // A message about a task stands on the task's track, too.
    if (one.argument(1) != 0) add_instant(now, task_of(one.argument(1)).track, "log: " + one.text());
  }

  open_task& task_of(std::uint64_t number) {
    auto const [found, is_new] = tasks_.try_emplace(number);
    if (!is_new) return found->second;
    if (tasks_.size() == 1) describe(tracks::tasks, tracks::process, "tasks");
    found->second.track = tracks::of_task(tasks_.size());
    describe(found->second.track, tracks::tasks, text("task %llu", ull{number}));
    return found->second;
  }

  void add_task(event const& now) {
    record const& one = *now.what;
    open_task& task = task_of(one.argument(1));
    if (task.has_ended) return;
    if (one.detail == 0) {
      if (task.has_begun) return;
      task.has_begun = true;
      events_.push_back({now.ns, event_type::TYPE_SLICE_BEGIN, task.track, one.text()});
      annotate_with_goroutine("begun by", one.argument(0));
      return;
    }
    task.has_ended = true;
    // Its beginning was before the trace, so its name is not known.
    if (!task.has_begun) {
      events_.push_back(
          {past_.begin, event_type::TYPE_SLICE_BEGIN, task.track, text("task %llu", ull{one.argument(1)})});
    }
    events_.push_back({now.ns, event_type::TYPE_SLICE_END, task.track, {}});
  }

  void end_tasks() {
    for (auto const& [number, task] : tasks_) {
      if (task.has_begun && !task.has_ended) {
        events_.push_back({past_.end, event_type::TYPE_SLICE_END, task.track, {}});
      }
    }
  }

  void annotate_with_goroutine(char const* name, std::uint64_t number) {
    if (number != 0) events_.back().annotations.emplace_back(name, name_with_number(number));
  }

  // Regions nest with each other, but not with the states of the goroutine, so they have a track of their own.
  void add_region(event const& now) {
    record const& one = *now.what;
    auto const found = past_.by_number.find(one.argument(0));
    if (found == past_.by_number.end()) return;
    auto const [open, is_new] = open_regions_.try_emplace(found->second, 0);
    std::uint64_t const track = tracks::of_regions(found->second);
    if (is_new) describe(track, tracks::of_goroutine(found->second), "regions");
    if (one.detail == 0) {
      ++open->second;
      events_.push_back({now.ns, event_type::TYPE_SLICE_BEGIN, track, one.text()});
    } else if (open->second != 0) {
      --open->second;
      events_.push_back({now.ns, event_type::TYPE_SLICE_END, track, {}});
    }
  }

  void end_regions() {
    for (auto const& [goroutine, open] : open_regions_) {
      for (std::uint64_t i = 0; i < open; ++i) {
        events_.push_back({past_.end, event_type::TYPE_SLICE_END, tracks::of_regions(goroutine), {}});
      }
    }
  }

  void add_counter(std::int64_t ns, std::uint64_t track, std::int64_t value) {
    events_.push_back({.ns = ns, .type = event_type::TYPE_COUNTER, .track = track, .name = {}, .counter = value});
  }

  void add_counters() {
    add_counter_of(g_state::runnable, tracks::runnable);
    add_counter_of(g_state::in_call, tracks::in_calls);
    std::set<std::uint64_t> spinning;
    add_counter(past_.begin, tracks::spinning, 0);
    for (event const& now : from_.merged.events) {
      record const& one = *now.what;
      if (one.kind == record_kind::global)
        add_counter(now.ns, tracks::global_queue, static_cast<std::int64_t>(one.argument(0)));
      if (one.kind == record_kind::spin) {
        spinning.insert(one.argument(0));
      } else if (one.kind == record_kind::spun) {
        spinning.erase(one.argument(0));
      } else {
        continue;
      }
      add_counter(now.ns, tracks::spinning, static_cast<std::int64_t>(spinning.size()));
    }
  }

  // The number of goroutines in this state, whenever it changes.
  void add_counter_of(g_state state, std::uint64_t track) {
    std::vector<std::pair<std::int64_t, int>> changes;
    for (g_interval const& each : past_.intervals) {
      if (each.state != state) continue;
      changes.emplace_back(each.begin, 1);
      changes.emplace_back(each.end, -1);
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t value = 0;
    add_counter(past_.begin, track, value);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      value += changes[i].second;
      if (i + 1 == changes.size() || changes[i + 1].first != changes[i].first)
        add_counter(changes[i].first, track, value);
    }
  }

  // ---- writing

  void write_events() {
    // The events of one track were added in the order of its slices, so the begin of a slice stays before its end.
    std::stable_sort(events_.begin(), events_.end(), [](pending const& a, pending const& b) { return a.ns < b.ns; });
    // In a damaged file the header may say anything. This clock cannot overflow.
    std::int64_t const begin_of_clock =
        std::clamp<std::int64_t>(from_.file.header.monotonic_ns, 0, 1'000'000'000'000'000'000);
    for (pending& each : events_) {
      perfetto::TracePacket packet;
      packet.set_timestamp(static_cast<std::uint64_t>(std::max<std::int64_t>(begin_of_clock + each.ns, 0)));
      event_type& event = *packet.mutable_track_event();
      event.set_type(each.type);
      event.set_track_uuid(each.track);
      if (each.type == event_type::TYPE_COUNTER) {
        event.set_counter_value(each.counter);
      } else if (each.type != event_type::TYPE_SLICE_END) {
        event.set_name(std::move(each.name));
        event.add_categories("thrum");
      }
      if (each.flow_from != 0) event.add_flow_ids(each.flow_from);
      if (each.flow_to != 0) event.add_terminating_flow_ids(each.flow_to);
      for (auto& [name, value] : each.annotations) {
        perfetto::DebugAnnotation& annotation = *event.add_debug_annotations();
        annotation.set_name(std::move(name));
        annotation.set_string_value(std::move(value));
      }
      write_packet(std::move(packet));
    }
  }

  // Messages that stand one behind the other are one message with all their packets.
  void write_packet(perfetto::TracePacket&& packet) {
    packet.set_trusted_packet_sequence_id(sequence);
    perfetto::Trace one;
    *one.add_packet() = std::move(packet);
    one.SerializeToOstream(&to_);
  }

  trace const& from_;
  history const& past_;
  names names_;
  std::ostream& to_;
  std::vector<pending> events_;
  std::vector<g_interval const*> slices_on_ps_;
  std::unordered_map<std::uint32_t, std::uint64_t> arriving_flow_;  // by goroutine: the arrow to its next slice
  std::map<std::uint32_t, std::uint64_t> open_regions_;             // by goroutine: how many
  std::map<std::uint64_t, open_task> tasks_;                        // by the task's number
  std::map<std::uint64_t, std::size_t> place_of_m_;
  std::uint64_t flows_ = 0;
};

}  // namespace

bool has_perfetto() noexcept { return true; }
void write_perfetto(trace const& from, std::ostream& to) { perfetto_writer(from, to).write(); }

}  // namespace thrum::command
