#include "sched/records.h"

namespace thrum::rt {
namespace {

constexpr std::uint32_t g_batch = free_g_cache_max / 2;       // Go: caches exchange halves
constexpr std::uint32_t sudog_batch = sudog_cache_max / 2;
constexpr std::uint64_t id_batch = 16;                        // Go's value

G* refill_gs(P& p) noexcept {
  Sched& s = p.sched;
  os::lock_guard const guard(s.free_lock);
  while (p.free_gs.size() < g_batch && !s.free_gs.empty()) p.free_gs.push_back(s.free_gs.pop_front());
  if (entry const cached = p.free_gs.pop_front()) return cached.g();
  G* const fresh = s.g_slab.make();
  if (fresh != nullptr) fresh->transition(g_status::idle, g_status::dead);
  return fresh;
}

sudog* refill_sudogs(P& p) noexcept {
  Sched& s = p.sched;
  os::lock_guard const guard(s.free_lock);
  while (p.sudogs.size() < sudog_batch) {
    sudog* one = s.free_sudogs.pop();
    if (one == nullptr) break;
    p.sudogs.push(one);
  }
  sudog* const one = p.sudogs.pop();
  return one != nullptr ? one : s.sudog_slab.make();
}

}  // namespace

G* take_dead_g(P& p) noexcept {
  if (entry const cached = p.free_gs.pop_front()) return cached.g();
  return refill_gs(p);
}

void put_dead_g(P& p, G& g) noexcept {
  p.free_gs.push_front(entry::plain(&g));
  if (p.free_gs.size() <= free_g_cache_max) return;
  os::lock_guard const guard(p.sched.free_lock);
  while (p.free_gs.size() > g_batch) p.sched.free_gs.push_front(p.free_gs.pop_front());
}

std::uint64_t next_goroutine_id(P& p) noexcept {
  if (p.next_id == p.id_batch_end) {
    os::lock_guard const guard(p.sched.free_lock);
    p.next_id = p.sched.next_id;
    p.id_batch_end = p.sched.next_id += id_batch;
  }
  return p.next_id++;
}

sudog* take_sudog(P& p) noexcept {
  if (sudog* const cached = p.sudogs.pop()) return cached;
  return refill_sudogs(p);
}

void put_sudog(P& p, sudog* one) noexcept {
  one->g = nullptr;
  one->handed_over = false;
  p.sudogs.push(one);
  if (p.sudogs.size() <= sudog_cache_max) return;
  os::lock_guard const guard(p.sched.free_lock);
  while (p.sudogs.size() > sudog_batch) p.sched.free_sudogs.push(p.sudogs.pop());
}

}  // namespace thrum::rt
