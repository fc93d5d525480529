#include "command/trace/recording.h"

#include "command/trace/json_writer.h"
#include "command/trace/machine.h"
#include "command/trace/names.h"
#include "command/trace/text.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

namespace thrum::command {
namespace {

using ull = unsigned long long;

// Records of one stream that follow each other within this time are one step, up to this number of deeds.
constexpr std::int64_t step_ns_max = 2000;
constexpr std::size_t step_deeds_max = 6;

// The machine, and the statement that each goroutine of a told program is at. `of` may be null.
class teller {
 public:
  teller(trace const& from, told_program const* of)
      : told_(of), machine_(from.past, of == nullptr ? ring_capacity : of->queue_size) {}

  void apply(event const& now, std::vector<machine::deed>& deeds) {
    machine_.apply(now, deeds);
    if (told_ == nullptr) return;
    std::uint64_t const g = now.what->argument(0);
    if (now.what->kind == record_kind::end) at_.erase(g);
    if (now.what->kind != record_kind::log) return;
    auto const found = told_->statements.find(now.what->text());
    if (found == told_->statements.end()) return;
    at_[g] = &found->second;
    deeds.push_back({.kind = "note", .g = g, .text = told_text(g, found->second)});
  }

  [[nodiscard]] machine const& now() const noexcept { return machine_; }
  // nullptr: it is not known.
  [[nodiscard]] told_statement const* at(std::uint64_t g) const {
    auto const found = at_.find(g);
    return found == at_.end() ? nullptr : found->second;
  }

 private:
  static std::string told_text(std::uint64_t g, told_statement const& one) {
    return text("G%llu begins line %llu: %s", ull{g}, ull{one.line}, one.text.c_str());
  }

  told_program const* told_;
  machine machine_;
  std::map<std::uint64_t, told_statement const*> at_;
};

// A statement begins a step, and a goroutine ends in another step than that of its last statement. So each statement of
// a told program is seen in the state of a step.
bool begins_step(std::vector<machine::deed> const& deeds, told_program const* told) {
  return told != nullptr && std::any_of(deeds.begin(), deeds.end(), [](machine::deed const& each) {
           return !each.text.empty() || each.kind == std::string_view("end");
         });
}

struct step {
  std::size_t begin = 0, end = 0;  // the events, from the first to the one behind the last
};

// Where the steps begin and end depends on what the records do, so this plays the trace once.
std::vector<step> steps_of(trace const& from, std::span<event const> events, told_program const* told,
                           std::size_t steps_max) {
  std::vector<step> steps;
  teller plays(from, told);
  std::vector<machine::deed> deeds;
  event const* first = nullptr;  // of the present step
  std::size_t in_step = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    deeds.clear();
    plays.apply(events[i], deeds);
    if (deeds.empty()) {
      if (!steps.empty()) steps.back().end = i + 1;
      continue;
    }
    bool const joins = first != nullptr && first->what->stream == events[i].what->stream &&
                       events[i].ns - first->ns <= step_ns_max && in_step + deeds.size() <= step_deeds_max &&
                       !begins_step(deeds, told);
    if (!joins) {
      if (steps.size() == steps_max) return steps;
      steps.push_back({steps.empty() ? 0 : steps.back().end, i + 1});
      first = &events[i];
      in_step = 0;
    }
    in_step += deeds.size();
    steps.back().end = i + 1;
  }
  if (!steps.empty()) steps.back().end = events.size();
  return steps;
}

class recording_writer {
 public:
  recording_writer(trace const& from, std::span<event const> events, std::string const& title, told_program const* told,
                   std::vector<step> const& steps)
      : from_(from),
        events_(events),
        steps_(steps),
        names_(from.file, from.past),
        told_(told),
        teller_(from, told),
        title_(title) {
    std::size_t const end = steps.empty() ? 0 : steps.back().end;
    for (event const& each : events_.first(end)) {
      if (format_of(each.what->kind)->about == subject::goroutine) shown_.insert(each.what->argument(0));
    }
    for (auto const& [id, p] : now().procs()) {
      if (p.running) shown_.insert(*p.running);
    }
  }

  recording write() {
    recording result;
    out_.begin_object().member("format", "thrum-recording").member("version", std::uint64_t{1});
    char const* const kind = told_ == nullptr ? "trace" : "play";
    out_.member("kind", kind).name("title");
    words(title_);
    out_.member("clock", "ns").name("parts").begin_array().begin_object().member("id", kind).name("title");
    words(title_);
    out_.member("procs", std::uint64_t{std::max<std::size_t>(from_.file.header.ps, now().procs().size())});
    out_.member("queue_size", std::uint64_t{told_ == nullptr ? ring_capacity : told_->queue_size});
    if (told_ != nullptr) write_program();
    out_.name("steps").begin_array();
    write_step(from_.past.begin, {});
    result.steps = 1;
    for (step const& each : steps_) {
      if (out_.bytes() > recording_bytes_max) break;
      std::vector<machine::deed> deeds;
      std::span const events = events_.subspan(each.begin, each.end - each.begin);
      for (event const& one : events) teller_.apply(one, deeds);
      write_step(events.back().ns, deeds);
      ++result.steps;
    }
    if (told_ != nullptr && !told_->last_words.empty()) {
      write_step(from_.past.begin, {{.kind = "note", .text = told_->last_words}});
      ++result.steps;
    }
    out_.end_array().end_object().end_array().end_object();
    result.json = out_.take();
    result.is_whole = result.steps > steps_.size() && (steps_.empty() || steps_.back().end == events_.size());
    return result;
  }

 private:
  [[nodiscard]] machine const& now() const noexcept { return teller_.now(); }

  void write_program() {
    out_.name("story");
    words(told_->story);
    out_.name("program").begin_object().member("file", told_->file).name("lines").begin_array();
    for (std::string const& each : told_->lines) out_.value(std::string_view(each));
    out_.end_array().end_object();
  }

  void words(std::string const& english) { out_.begin_object().member("en", english).end_object(); }

  void write_step(std::int64_t ns, std::vector<machine::deed> const& deeds) {
    std::int64_t const since = ns - from_.past.begin;
    last_ns_ = std::max(last_ns_, since);
    out_.begin_object().member("t", last_ns_).name("events").begin_array();
    for (machine::deed const& each : deeds) write_deed(each);
    out_.end_array().name("state").begin_object();
    write_list("global", now().global());
    write_procs();
    write_threads();
    write_goroutines();
    write_waiting();
    out_.end_object().end_object();
  }

  void write_deed(machine::deed const& one) {
    out_.begin_object().member("kind", one.kind);
    if (one.g) out_.member("g", *one.g);
    if (one.m) out_.member("m", *one.m);
    if (one.p) out_.member("p", std::uint64_t{*one.p});
    if (one.by) out_.member("by", *one.by);
    if (!one.text.empty()) {
      out_.name("text");
      words(one.text);
    }
    if (one.from_p) {
      out_.name("from").begin_object().member("kind", "ring").member("p", std::uint64_t{*one.from_p}).end_object();
    }
    if (!one.gs.empty()) {
      out_.member("n", std::uint64_t{one.gs.size()});
      write_list("gs", one.gs);
    }
    out_.end_object();
  }

  template <class Numbers>
  void write_list(char const* name, Numbers const& numbers) {
    out_.name(name).begin_array();
    for (std::uint64_t const g : numbers) {
      if (shown_.contains(g)) out_.value(g);
    }
    out_.end_array();
  }

  // nullptr: null.
  void write_number(char const* name, std::uint64_t const* number) {
    out_.name(name);
    if (number == nullptr) {
      out_.null();
    } else {
      out_.value(*number);
    }
  }

  void write_goroutine_number(char const* name, std::optional<std::uint64_t> const& g) {
    write_number(name, g && shown_.contains(*g) ? &*g : nullptr);
  }

  void write_procs() {
    out_.name("procs").begin_array();
    std::uint64_t expected = 0;
    auto const write = [&](std::uint64_t id, machine::proc const& p) {
      bool const has_m = p.m && is_alive(*p.m);
      out_.begin_object().member("id", id);
      out_.member("status", p.is_in_call ? "in_call" : has_m ? "running" : "idle");
      write_number("m", has_m ? &*p.m : nullptr);
      write_goroutine_number("running", p.running);
      write_goroutine_number("next", p.next);
      write_list("ring", p.ring);
      out_.end_object();
    };
    for (auto const& [id, p] : now().procs()) {
      for (; expected < id; ++expected) write(expected, {});
      write(id, p);
      expected = std::uint64_t{id} + 1;
    }
    for (; expected < from_.file.header.ps; ++expected) write(expected, {});
    out_.end_array();
  }

  // Not one that has ended.
  [[nodiscard]] bool is_alive(std::uint64_t m) const {
    constexpr std::uint8_t dismissed = 13;
    auto const found = now().threads().find(m);
    return found != now().threads().end() && found->second.state < dismissed;
  }

  void write_threads() {
    std::map<std::uint64_t, std::uint64_t> seats;  // the P of each M that has one
    for (auto const& [p, of] : now().procs()) {
      if (of.m) seats[*of.m] = p;
    }
    out_.name("ms").begin_array();
    for (auto const& [id, m] : now().threads()) {
      if (!is_alive(id)) continue;
      std::optional<std::uint64_t> g = m.in_call;
      auto const seat = seats.find(id);
      bool const has_p = seat != seats.end();
      if (has_p) {
        auto const& of = now().procs().at(static_cast<std::uint16_t>(seat->second));
        if (of.running) g = of.running;
      }
      out_.begin_object().member("id", id).member("state", state_of(m, has_p));
      write_number("p", has_p ? &seat->second : nullptr);
      write_goroutine_number("g", g);
      out_.end_object();
    }
    out_.end_array();
  }

  static char const* state_of(machine::thread const& m, bool has_p) {
    constexpr std::uint8_t starting_without_p = 2, timekeeper = 5;
    if (m.in_call) return "in_call";
    if (m.is_spinning) return "spinning";
    if (has_p) return "running";
    if (m.state == timekeeper) return "timekeeper";
    return m.state != 0 && m.state <= starting_without_p ? "starting" : "resting";
  }

  void write_goroutines() {
    out_.name("gs").begin_array();
    for (auto const& [id, g] : now().goroutines()) {
      if (!shown_.contains(id)) continue;
      out_.begin_object().member("id", id).member("label", text("G%llu", ull{id})).member("state", state_of(g));
      if (goroutine_life const* const life = from_.past.find(id)) out_.member("entry", entry_of(id, *life));
      if (g.at == machine::place::waiting) {
        out_.member("reason", name_of_reason(g.reason)).member("place", place_of(id, g.reason).id());
      }
      if (told_statement const* const at = teller_.at(id)) write_statement(*at);
      out_.end_object();
    }
    out_.end_array();
  }

  static char const* state_of(machine::goroutine const& g) {
    switch (g.at) {
      case machine::place::running: return "running";
      case machine::place::waiting: return "waiting";
      case machine::place::in_call: return "in_call";
      default: return !g.has_run ? "new" : g.was_preempted ? "preempted" : "runnable";
    }
  }

  std::string const& entry_of(std::uint64_t id, goroutine_life const& life) {
    auto const [found, is_new] = entries_.try_emplace(id);
    if (is_new) found->second = names_.of_goroutine(life);
    return found->second;
  }

  void write_statement(told_statement const& one) {
    out_.member("line", one.line).name("stack").begin_array();
    out_.value(std::string_view(text("%s (%s:%llu)", one.text.c_str(), told_->file.c_str(), ull{one.line})));
    out_.end_array();
  }

  // Where goroutines wait: the channel or the mutex that their statements name, or else one place for each reason.
  struct waiting_place {
    std::uint8_t reason = 0;
    std::string name{};
    char const* kind = "";

    [[nodiscard]] std::string id() const { return name.empty() ? text("reason%u", unsigned{reason}) : name; }
    [[nodiscard]] std::string label() const {
      if (!name.empty()) return name;
      return reason == 0 ? "for a reason from before the trace" : name_of_reason(reason);
    }
    bool operator<(waiting_place const& other) const {
      return std::tie(reason, name) < std::tie(other.reason, other.name);
    }
  };

  [[nodiscard]] waiting_place place_of(std::uint64_t g, std::uint8_t reason) const {
    told_statement const* const at = teller_.at(g);
    if (at == nullptr || at->place.empty()) return {reason, {}, kind_of(reason)};
    return {0, at->place, at->kind_of_place};
  }

  static char const* kind_of(std::uint8_t reason) {
    constexpr std::uint8_t semaphore = 1, sleep = 7, first_of_channels = 8, last_of_channels = 13;
    if (reason == sleep) return "timer";
    if (reason == reason_io) return "poller";
    if (reason >= first_of_channels && reason <= last_of_channels) return "chan";
    return waits_for_lock(reason) || reason == semaphore ? "mutex" : "other";
  }

  // All places where a goroutine has waited so far.
  void write_waiting() {
    for (auto& [where, gs] : waiting_) gs.clear();
    for (auto const& [id, g] : now().goroutines()) {
      if (g.at == machine::place::waiting && shown_.contains(id)) waiting_[place_of(id, g.reason)].push_back(id);
    }
    out_.name("waiting").begin_array();
    for (auto const& [where, gs] : waiting_) {
      out_.begin_object().member("id", where.id()).member("kind", where.kind).member("label", where.label());
      write_list("gs", gs);
      out_.end_object();
    }
    out_.end_array();
  }

  trace const& from_;
  std::span<event const> events_;
  std::vector<step> const& steps_;
  names names_;
  told_program const* told_;
  teller teller_;
  std::string const& title_;
  std::set<std::uint64_t> shown_;
  std::map<std::uint64_t, std::string> entries_;
  std::map<waiting_place, std::vector<std::uint64_t>> waiting_;
  std::int64_t last_ns_ = 0;
  json_writer out_{json_writer::form::compact};
};

recording recording_of(trace const& from, std::string const& title, told_program const* told, std::size_t steps_max) {
  std::span<event const> events = from.merged.events;
  if (told != nullptr) {
    std::int64_t const until = told->until_monotonic_ns - from.file.header.monotonic_ns;
    auto const end =
        std::partition_point(events.begin(), events.end(), [&](event const& each) { return each.ns <= until; });
    events = events.first(static_cast<std::size_t>(end - events.begin()));
  }
  std::vector<step> const steps = steps_of(from, events, told, steps_max);
  return recording_writer(from, events, title, told, steps).write();
}

}  // namespace

recording as_recording(trace const& from, std::string const& title, std::size_t steps_max) {
  return recording_of(from, title, nullptr, steps_max);
}

recording as_recording(trace const& from, std::string const& title, told_program const& of, std::size_t steps_max) {
  return recording_of(from, title, &of, steps_max);
}

}  // namespace thrum::command
