#include "sched/records.h"

#include "base/check.h"
#include "base/heuristics.h"

#include <algorithm>
#include <span>
#include <utility>

namespace thrum::rt {
namespace {

constexpr std::uint32_t g_batch = free_g_cache_max / 2;  // Go: caches exchange halves
constexpr std::uint32_t sudog_batch = sudog_cache_max / 2;
constexpr std::uint64_t id_batch = goroutine_ids_at_once;

// Before Gs are made, room is reserved for every entry that they can ever need: two places each in the global queue,
// for a plain entry and a stale one, and one among the dead Gs. So putting a G anywhere never fails.
bool reserve_room(Sched& s, std::uint32_t gs) noexcept {
  {
    os::lock_guard const guard(s.lock);
    if (!s.global_queue.reserve(2UL * gs)) return false;
  }
  return s.records.reserve(gs);
}

}  // namespace

// Gives p half a cache of dead Gs: recycled ones, else new ones. False: there is no memory.
bool refill_gs(P& p) noexcept {
  Sched& s = p.sched;
  THRUM_DCHECK(p.free_g_count == 0);
  for (;;) {
    auto const [count, room_needed] = s.records.take_gs(std::span(p.free_gs).first(g_batch));
    p.free_g_count = count;
    if (count != 0) return true;
    if (room_needed == 0 || !reserve_room(s, room_needed)) return false;
  }
}

void spill_gs(P& p) noexcept {
  // The older half goes to the pool, because the Gs that were used last are in this CPU's cache.
  p.sched.records.put_gs(std::span(p.free_gs).first(g_batch));
  std::copy_n(p.free_gs.begin() + g_batch, g_batch, p.free_gs.begin());
  p.free_g_count -= g_batch;
}

void give_up_records(P& p) noexcept {
  p.sched.records.put_gs(std::span(p.free_gs).first(std::exchange(p.free_g_count, 0U)));
  p.sched.records.put_sudogs(p.sudogs, 0);
}

void refill_ids(P& p) noexcept {
  p.next_id = p.sched.records.take_ids(id_batch);
  p.id_batch_end = p.next_id + id_batch;
  // A sample of the new goroutines is timed (G::begin_ready_time).
  if (p.id_batch_end / id_batch % one_in::batches_of_ids == 0 && p.m != nullptr) p.m->at_start |= m_start::timed;
}

sudog* take_sudog(P& p) noexcept {
  if (sudog* const cached = p.sudogs.pop()) return cached;
  return p.sched.records.take_sudog(p.sudogs, sudog_batch);
}

void put_sudog(P& p, sudog* one) noexcept {
  one->g = nullptr;
  one->handed_over = false;
  p.sudogs.push(one);
  if (p.sudogs.size() > sudog_cache_max) p.sched.records.put_sudogs(p.sudogs, sudog_batch);
}

}  // namespace thrum::rt
