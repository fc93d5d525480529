#include "sched/records.h"

namespace thrum::rt {
namespace {

constexpr std::uint32_t g_batch = free_g_cache_max / 2;  // Go: caches exchange halves
constexpr std::uint32_t gs_per_reservation = 1024;
constexpr std::uint32_t sudog_batch = sudog_cache_max / 2;
constexpr std::uint64_t id_batch = 16;  // Go's value
constexpr std::uint64_t timed_batches = 64;

// Before Gs are made, room is reserved for every entry that they can ever need: two places each in the global queue,
// for a plain entry and a stale one, and one among the dead Gs. So putting a G anywhere never fails.
bool reserve_room(Sched& s, std::uint32_t gs) noexcept {
  {
    os::lock_guard const guard(s.lock);
    if (!s.global_queue.reserve(2UL * gs)) return false;
  }
  os::lock_guard const guard(s.free_lock);
  if (!s.free_gs.reserve(gs)) return false;
  if (s.gs_reserved < gs) s.gs_reserved = gs;
  return true;
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

// Gives p half a cache of dead Gs: recycled ones, else new ones. False: there is no memory.
bool refill_gs(P& p) noexcept {
  Sched& s = p.sched;
  for (;;) {
    std::uint32_t room_needed = 0;
    {
      os::lock_guard const guard(s.free_lock);
      while (p.free_g_count < g_batch && s.free_gs.size() != 0) {
        p.free_gs[p.free_g_count++] = reinterpret_cast<G*>(s.free_gs.pop());
      }
      while (p.free_g_count < g_batch && s.gs_made < s.gs_reserved) {
        G* const fresh = s.g_slab.make();
        if (fresh == nullptr) break;
        fresh->transition(g_status::idle, g_status::dead);
        p.free_gs[p.free_g_count++] = fresh;
        ++s.gs_made;
      }
      if (p.free_g_count != 0) return true;
      if (s.gs_made < s.gs_reserved) return false;
      room_needed = s.gs_reserved + gs_per_reservation;
    }
    if (!reserve_room(s, room_needed)) return false;
  }
}

void spill_gs(P& p) noexcept {
  // The older half goes to the pool, because the Gs that were used last are in this CPU's cache.
  os::lock_guard const guard(p.sched.free_lock);
  for (std::uint32_t i = 0; i < g_batch; ++i) {
    p.sched.free_gs.push(reinterpret_cast<std::uintptr_t>(p.free_gs[i]));
    p.free_gs[i] = p.free_gs[i + g_batch];
  }
  p.free_g_count -= g_batch;
}

void give_up_records(P& p) noexcept {
  os::lock_guard const guard(p.sched.free_lock);
  while (p.free_g_count > 0) p.sched.free_gs.push(reinterpret_cast<std::uintptr_t>(p.free_gs[--p.free_g_count]));
  while (sudog* const one = p.sudogs.pop()) p.sched.free_sudogs.push(one);
}

void refill_ids(P& p) noexcept {
  os::lock_guard const guard(p.sched.free_lock);
  p.next_id = p.sched.next_id;
  p.id_batch_end = p.sched.next_id += id_batch;
  // One in 1,024 new goroutines is timed (G::begin_turn).
  if (p.id_batch_end / id_batch % timed_batches == 0 && p.m != nullptr) p.m->at_start |= m_start::timed;
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
