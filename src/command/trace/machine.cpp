#include "command/trace/machine.h"

#include <algorithm>
#include <utility>

namespace thrum::command {
namespace {

constexpr std::uint8_t reason_join = 5;
constexpr std::uint8_t m_is_idle = 4, m_keeps_time = 5;

bool is_p(std::uint16_t stream) { return stream < first_stream_without_p; }

void erase(std::deque<std::uint64_t>& queue, std::uint64_t g) {
  queue.erase(std::remove(queue.begin(), queue.end(), g), queue.end());
}

}  // namespace

machine::machine(history const& past, std::size_t queue_size) : queue_size_(queue_size) {
  for (p_interval const& each : past.p_intervals) {
    proc& p = procs_[each.p];
    if (each.begin == past.begin) p.m = each.m;
    threads_.try_emplace(each.m);
  }
  for (g_interval const& each : past.intervals) {
    if (each.begun_by != record_kind::none) continue;
    std::uint64_t const g = past.goroutines[each.goroutine].number;
    goroutines_[g].has_run = true;
    switch (each.state) {
      case g_state::running:
        if (is_p(each.p)) run(g, each.p);
        break;
      case g_state::waiting:
      case g_state::hosting: wait(g, each.detail); break;
      case g_state::in_call: goroutines_[g].at = place::in_call; break;
      default: break;
    }
  }
}

void machine::apply(event const& now, std::vector<deed>& deeds) {
  record const& one = *now.what;
  switch (format_of(one.kind)->about) {
    case subject::goroutine: of_goroutine(one, deeds); break;
    case subject::m: of_m(one, deeds); break;
    case subject::none: of_p(one, deeds); break;
  }
}

std::optional<std::uint64_t> machine::m_of(std::uint16_t p) const {
  auto const found = procs_.find(p);
  return found == procs_.end() ? std::nullopt : found->second.m;
}

void machine::of_goroutine(record const& one, std::vector<deed>& deeds) {
  std::uint64_t const g = one.argument(0);
  std::uint16_t const p = one.stream;
  std::optional<std::uint16_t> const on = is_p(p) ? std::optional(p) : std::nullopt;
  switch (one.kind) {
    case record_kind::create: {
      std::uint64_t const parent = one.argument(2);
      deeds.push_back({.kind = "create", .g = g, .by = parent == 0 ? std::nullopt : std::optional(parent), .p = on});
      leave(g);
      goroutines_[g] = {};
      put_next(g, p, deeds);
      break;
    }
    case record_kind::start:
      if (!on) break;
      run(g, p);
      deeds.push_back({.kind = "run", .g = g, .m = m_of(p), .p = on});
      break;
    case record_kind::stop:
      deeds.push_back({.kind = "stop", .g = g, .p = on});
      wait(g, one.detail);
      break;
    case record_kind::host: wait(g, reason_join); break;
    case record_kind::hosted:
      if (on) run(g, p);
      break;
    case record_kind::yield: {
      bool const was_preempted = one.detail == 1 || one.detail == 2;
      deeds.push_back({.kind = was_preempted ? "preempt" : "ready", .g = g, .p = on});
      if (was_preempted || !on) {
        put_global(g);
      } else {
        put_tail(g, p, deeds);
      }
      goroutines_[g].was_preempted = was_preempted;
      break;
    }
    case record_kind::end:
      deeds.push_back({.kind = "end", .g = g, .p = on});
      leave(g);
      goroutines_.erase(g);
      break;
    case record_kind::ready: {
      std::uint64_t const waker = one.argument(1);
      deeds.push_back({.kind = "ready", .g = g, .by = waker == 0 ? std::nullopt : std::optional(waker), .p = on});
      if (!on || one.detail == 2) {
        put_global(g);
      } else if (one.detail == 1) {
        put_tail(g, p, deeds);
      } else {
        put_next(g, p, deeds);
      }
      break;
    }
    case record_kind::call:
      deeds.push_back({.kind = "call_enter", .g = g, .m = m_of(p), .p = on});
      enter_call(g, p);
      break;
    case record_kind::call_return:
      deeds.push_back({.kind = "call_exit", .g = g, .p = on});
      if (one.detail == 2 || !on) {
        put_global(g);
      } else {
        run(g, p);
      }
      break;
    default: break;
  }
}

void machine::of_p(record const& one, std::vector<deed>& deeds) {
  std::uint16_t const p = one.stream;
  if (!is_p(p) && one.kind != record_kind::spin && one.kind != record_kind::spun) return;
  switch (one.kind) {
    case record_kind::take: {
      std::uint64_t const m = one.argument(0);
      for (auto& [id, other] : procs_) {
        if (other.m != m) continue;
        other.m = std::nullopt;
        other.is_in_call = false;
      }
      procs_[p].m = m;
      procs_[p].is_in_call = false;
      threads_.try_emplace(m);
      deeds.push_back({.kind = "p_take", .m = m, .p = p});
      break;
    }
    case record_kind::release: {
      proc& of = procs_[p];
      // In a short call the M stays beside its P, and finds it there when it comes back.
      of.is_in_call = one.detail == 1 && of.m && threads_[*of.m].in_call;
      if (!of.is_in_call) {
        of.m = std::nullopt;
        if (of.running) leave(*of.running);
        deeds.push_back({.kind = "p_release", .m = one.argument(0), .p = p});
      }
      break;
    }
    case record_kind::spin:
    case record_kind::spun:
      threads_[one.argument(0)].is_spinning = one.kind == record_kind::spin;
      deeds.push_back({.kind = one.kind == record_kind::spin ? "spin_begin" : "spin_end", .m = one.argument(0)});
      break;
    case record_kind::steal: steal(p, one.argument(0), one.argument(1), deeds); break;
    case record_kind::global: take_global(p, one.argument(0), deeds); break;
    default: break;
  }
}

void machine::of_m(record const& one, std::vector<deed>& deeds) {
  std::uint64_t const m = one.argument(0);
  bool const was_idle = threads_[m].state == m_is_idle || threads_[m].state == m_keeps_time;
  bool const is_idle = one.detail == m_is_idle || one.detail == m_keeps_time;
  threads_[m].state = one.detail;
  if (was_idle != is_idle) deeds.push_back({.kind = is_idle ? "m_rest" : "m_wake", .m = m});
}

void machine::run(std::uint64_t g, std::uint16_t p) {
  leave(g);
  proc& on = procs_[p];
  if (on.running) leave(*on.running);
  on.running = g;
  on.is_in_call = false;
  goroutine& of = goroutines_[g];
  of.at = place::running;
  of.p = p;
  of.has_run = true;
  of.was_preempted = false;
}

void machine::leave(std::uint64_t g) {
  auto const found = goroutines_.find(g);
  if (found == goroutines_.end()) return;
  goroutine& of = found->second;
  switch (of.at) {
    case place::global: erase(global_, g); break;
    case place::ring: erase(procs_[of.p].ring, g); break;
    case place::next: procs_[of.p].next = std::nullopt; break;
    case place::running: procs_[of.p].running = std::nullopt; break;
    case place::in_call:
      if (auto const m = threads_.find(of.m); m != threads_.end() && m->second.in_call == g) {
        m->second.in_call = std::nullopt;
      }
      break;
    default: break;
  }
  of.at = place::nowhere;
}

void machine::put_next(std::uint64_t g, std::uint16_t p, std::vector<deed>& deeds) {
  if (!is_p(p)) return put_global(g);
  leave(g);
  proc& on = procs_[p];
  std::optional<std::uint64_t> const kicked_out = on.next;
  if (kicked_out) leave(*kicked_out);
  on.next = g;
  goroutine& of = goroutines_[g];
  of.at = place::next;
  of.p = p;
  if (kicked_out) put_tail(*kicked_out, p, deeds);
}

void machine::put_tail(std::uint64_t g, std::uint16_t p, std::vector<deed>& deeds) {
  leave(g);
  std::deque<std::uint64_t>& ring = procs_[p].ring;
  if (ring.size() >= queue_size_) {
    deed spill{.kind = "spill", .p = p};
    while (spill.gs.size() < queue_size_ / 2 && !ring.empty()) {
      std::uint64_t const oldest = ring.front();
      put_global(oldest);
      spill.gs.push_back(oldest);
    }
    put_global(g);
    spill.gs.push_back(g);
    deeds.push_back(std::move(spill));
    return;
  }
  ring.push_back(g);
  goroutine& of = goroutines_[g];
  of.at = place::ring;
  of.p = p;
}

void machine::put_global(std::uint64_t g) {
  leave(g);
  global_.push_back(g);
  goroutines_[g].at = place::global;
}

void machine::wait(std::uint64_t g, std::uint8_t reason) {
  leave(g);
  goroutines_[g].at = place::waiting;
  goroutines_[g].reason = reason;
}

void machine::enter_call(std::uint64_t g, std::uint16_t p) {
  leave(g);
  goroutine& of = goroutines_[g];
  of.at = place::in_call;
  of.m = 0;
  if (std::optional<std::uint64_t> const m = m_of(p)) {
    of.m = *m;
    threads_[*m].in_call = g;
  }
}

void machine::steal(std::uint16_t thief, std::uint64_t victim, std::uint64_t number, std::vector<deed>& deeds) {
  if (victim >= first_stream_without_p || victim == thief) return;
  auto const found = procs_.find(static_cast<std::uint16_t>(victim));
  if (found == procs_.end()) return;
  auto& [from_p, from] = *found;
  deed stolen{.kind = "steal", .m = m_of(thief), .p = thief, .from_p = from_p};
  std::uint64_t const number_max = std::min<std::uint64_t>(number, queue_size_);
  while (stolen.gs.size() < number_max && (!from.ring.empty() || from.next)) {
    std::uint64_t const g = from.ring.empty() ? *from.next : from.ring.front();
    put_tail(g, thief, deeds);
    stolen.gs.push_back(g);
  }
  if (!stolen.gs.empty()) deeds.push_back(std::move(stolen));
}

void machine::take_global(std::uint16_t p, std::uint64_t length, std::vector<deed>& deeds) {
  deed taken{.kind = "take_global", .m = m_of(p), .p = p};
  while (global_.size() > length && taken.gs.size() < queue_size_ / 2) {
    std::uint64_t const g = global_.front();
    put_tail(g, p, deeds);
    taken.gs.push_back(g);
  }
  if (!taken.gs.empty()) deeds.push_back(std::move(taken));
}

}  // namespace thrum::command
