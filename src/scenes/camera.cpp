#include "scenes/camera.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace thrum::scenes {
namespace {

using rt::trace::kind;

char const* status_of(rt::P const& p) noexcept {
  switch (p.status.load(rt::relaxed)) {
    case rt::p_status::idle: return "idle";
    case rt::p_status::running: return "running";
    case rt::p_status::syscall: return "in_call";
    case rt::p_status::stopped:
    case rt::p_status::dead: break;
  }
  return "stopped";
}

char const* state_of(rt::M const& m) noexcept {
  switch (m.status) {
    case rt::m_status::starting:
    case rt::m_status::starting_without_p: return "starting";
    case rt::m_status::timekeeper:
    case rt::m_status::roused: return "timekeeper";
    case rt::m_status::awake: break;
    default: return "resting";
  }
  if (m.current != nullptr && m.p == nullptr) return "in_call";
  return m.spinning ? "spinning" : "running";
}

// Where a goroutine stands in a picture.
place place_of(machine const& in, int g) {
  auto const holds = [g](std::vector<int> const& all) { return std::find(all.begin(), all.end(), g) != all.end(); };
  if (holds(in.global)) return {"global", -1, {}};
  for (p_state const& p : in.procs) {
    if (p.next == g) return {"next", p.id, {}};
    if (holds(p.ring)) return {"ring", p.id, {}};
    if (p.running == g) return {"running", p.id, {}};
  }
  for (waiting_place const& each : in.waiting) {
    if (holds(each.gs)) return {"call", -1, each.id};
  }
  return {};
}

bool is_at(place const& one, char const* its_kind, int p) { return std::string(one.kind) == its_kind && one.p == p; }

// The goroutines that stood at a P in one picture, and stand elsewhere in the next.
template <class Elsewhere>
std::vector<int> moved(machine const& before, machine const& now, int p, Elsewhere is_elsewhere) {
  std::vector<int> found;
  for (g_state const& g : now.gs) {
    place const from = place_of(before, g.id);
    bool const stood_there = is_at(from, "ring", p) || is_at(from, "next", p);
    if (stood_there && is_elsewhere(place_of(now, g.id))) found.push_back(g.id);
  }
  return found;
}

class reader {
 public:
  reader(stage const& shown, machine const& before, machine const& now) : stage_(shown), before_(before), now_(now) {}

  void add(seen_event const& seen) {
    kind const what = seen.what.what;
    std::uint8_t const its_detail = seen.what.detail;
    std::array<std::uint64_t, 3> const& arguments = seen.what.arguments;
    event made;
    made.p = number_of_p(seen.p);
    made.m = seen.m;
    auto const about_g = [&](char const* name) {
      made.kind = name;
      made.g = stage_.actor_of(arguments[0]);
      return made.g >= 0;
    };
    auto const about_m = [&](char const* name) {
      made.kind = name;
      made.m = static_cast<int>(arguments[0]);
      return true;
    };
    switch (what) {
      case kind::create:
        if (!about_g("create")) return;
        made.by = stage_.actor_of(arguments[2]);
        made.to = {"next", made.p, {}};
        break;
      case kind::start:
        if (!about_g("run")) return;
        made.from = place_of(before_, made.g);
        made.to = {"running", made.p, {}};
        break;
      case kind::end:
        if (!about_g("end")) return;
        break;
      case kind::yield:
      case kind::stop:
        if (!about_g("stop")) return;
        break;
      case kind::ready:
        if (!about_g("ready")) return;
        break;
      case kind::call:
        if (!about_g("call_enter")) return;
        made.from = {"running", made.p, {}};
        made.to = {"call", -1, place_of(now_, made.g).id};
        break;
      case kind::comes_back:
        if (!about_g("call_exit")) return;
        made.from = {"call", -1, place_of(before_, made.g).id};
        made.to = its_detail == static_cast<std::uint8_t>(rt::trace::return_detail::without_p)
                      ? place{"global", -1, {}}
                      : place{"running", made.p, {}};
        break;
      case kind::take:
        about_m("p_take");
        if (was_handed_off(made)) all_.push_back({.kind = "hand_off", .p = made.p, .m = made.m});
        break;
      case kind::release:
        about_m(its_detail == static_cast<std::uint8_t>(rt::trace::release_detail::taken_by_sysmon) ? "hand_off"
                                                                                                    : "p_release");
        break;
      case kind::m:
        about_m("");
        made.p = -1;
        if (!name_change(made, its_detail)) return;
        break;
      case kind::spin: about_m("spin_begin"); break;
      case kind::spun: about_m("spin_end"); break;
      case kind::steal: add_steal(made, static_cast<int>(arguments[0])); break;
      case kind::global:
        if (!add_global(made, arguments[0])) return;
        break;
      case kind::preempt: about_m("preempt"); break;
      default: return;
    }
    all_.push_back(made);
  }

  [[nodiscard]] std::vector<event> take() { return std::move(all_); }

 private:
  // Whether the P was left in a system call by another M. The runtime has no event of its own for that.
  [[nodiscard]] bool was_handed_off(event const& taken) const {
    return std::any_of(all_.begin(), all_.end(), [&](event const& each) { return is_left_in_call(each, taken); }) ||
           std::any_of(before_.procs.begin(), before_.procs.end(), [&](p_state const& p) {
             return p.id == taken.p && p.m != taken.m && std::string(p.status) == "in_call";
           });
  }
  static bool is_left_in_call(event const& before, event const& taken) {
    return before.kind == std::string("call_enter") && before.p == taken.p && before.m != taken.m;
  }

  static bool name_change(event& made, std::uint8_t to) {
    if (to == static_cast<std::uint8_t>(rt::m_status::idle)) made.kind = "m_rest";
    if (to == static_cast<std::uint8_t>(rt::m_status::awake)) made.kind = "m_wake";
    if (to == static_cast<std::uint8_t>(rt::m_status::starting)) made.kind = "m_start";
    return *made.kind != '\0';
  }

  void add_steal(event& made, int victim_id) const {
    made.kind = "steal";
    int const victim = number_of_p(victim_id);
    int const thief = made.p;
    made.gs = moved(before_, now_, victim,
                    [thief](place const& to) { return is_at(to, "ring", thief) || is_at(to, "running", thief); });
    made.from = made.gs.empty() ? place{"ring", victim, {}} : place_of(before_, made.gs.back());
    made.to = {"running", thief, {}};
  }

  // The length of the global queue has changed. It tells the length, and the pictures tell of whom it consists.
  bool add_global(event& made, std::uint64_t length) {
    std::uint64_t const length_before = length_known_ ? length_ : before_.global.size();
    length_known_ = true;
    length_ = length;
    made.to = {"global", -1, {}};
    if (length > length_before) {
      made.kind = "spill";
      made.from = {"ring", made.p, {}};
      made.gs.assign(now_.global.end() - static_cast<std::ptrdiff_t>(
                                             std::min<std::uint64_t>(length - length_before, now_.global.size())),
                     now_.global.end());
      return made.gs.size() > 1;  // a single one is told of by its own event
    }
    if (length == length_before) return false;
    made.kind = "take_global";
    made.from = {"global", -1, {}};
    made.to = {"running", made.p, {}};
    made.gs.assign(before_.global.begin(),
                   before_.global.begin() + static_cast<std::ptrdiff_t>(length_before - length));
    return true;
  }

  stage const& stage_;
  machine const& before_;
  machine const& now_;
  bool length_known_ = false;
  std::uint64_t length_ = 0;
  std::vector<event> all_{};
};

}  // namespace

machine camera::take_picture() {
  rt::Sched& s = stage_.sched();
  machine made;
  std::vector<g_state> found;
  auto const number_of = [&](rt::G const& g) {
    int const number = stage_.actor_of(g.id);
    if (number >= 0 && std::none_of(found.begin(), found.end(), [&](g_state const& each) { return each.id == number; }))
      found.push_back({number, g.status.load(rt::relaxed) == rt::g_status::unstarted ? "new" : "runnable"});
    return number;
  };
  auto const is_in = [&](rt::G const& g, char const* state) {
    int const number = number_of(g);
    for (g_state& each : found) {
      if (each.id == number) each.state = state;
    }
    return number;
  };
  rt::os::lock_guard const guard(s.lock);
  s.global_queue.for_each_plain(s.global_queue.size(), [&](rt::entry e) { made.global.push_back(number_of(*e.g())); });
  for (rt::P const* const p : s.procs) {
    p_state its{number_of_p(p->id), status_of(*p)};
    if (p->m != nullptr) its.m = p->m->id;
    if (its.m >= 0 && p->m->current != nullptr) its.running = number_of(*p->m->current);
    if (rt::entry const next = p->queue.peek_next()) its.next = number_of(*next.g());
    for (std::uint32_t i = 0; i < p->queue.size(); ++i) {
      its.ring.push_back(number_of(*p->queue.at(p->queue.taken() + i).g()));
    }
    made.procs.push_back(std::move(its));
  }
  waiting_place calls{"calls", "call", "system calls", {}};
  for (rt::M const& m : s.ms.all()) {
    if (m.status == rt::m_status::threadless) continue;
    m_state its{m.id, state_of(m)};
    if (m.p != nullptr) its.p = number_of_p(m.p->id);
    if (m.current != nullptr && its.state == std::string("in_call")) {
      its.g = is_in(*m.current, "in_call");
      calls.gs.push_back(its.g);
      for (p_state& p : made.procs) {
        if (p.m == m.id) p.running = -1;
      }
    } else if (m.current != nullptr) {
      its.g = is_in(*m.current, "running");
    }
    made.ms.push_back(its);
  }
  std::sort(made.ms.begin(), made.ms.end(), [](m_state const& a, m_state const& b) { return a.id < b.id; });
  std::sort(calls.gs.begin(), calls.gs.end());
  if (!calls.gs.empty()) made.waiting.push_back(std::move(calls));
  for (g_state& each : known_) each.state = "dead";
  for (g_state const& each : found) {
    auto const same = std::find_if(known_.begin(), known_.end(), [&](g_state const& one) { return one.id == each.id; });
    if (same != known_.end()) {
      same->state = each.state;
    } else {
      known_.push_back(each);
    }
  }
  std::sort(known_.begin(), known_.end(), [](g_state const& a, g_state const& b) { return a.id < b.id; });
  made.gs = known_;
  return made;
}

std::vector<event> camera::take_events(machine const& before, machine const& now) {
  reader its(stage_, before, now);
  for (seen_event const& each : stage_.take_events()) its.add(each);
  return its.take();
}

}  // namespace thrum::scenes
