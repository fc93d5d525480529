// Dead Gs, sudogs and goroutine ids: taken from a P's cache first, and from the run's pool behind it (S06, S26, S30;
// core/record_pool.h).
//
// All functions run on the P's owner, on a G or on g0. They take the pool's lock only when a cache is empty or full.
#pragma once

#include "base/heuristics.h"
#include "core/m.h"
#include "core/sched.h"

namespace thrum::rt {

// The slow paths of the functions below: a cache is empty or full, or the batch of ids is used up.
[[nodiscard]] bool refill_gs(P& p) noexcept;
void spill_gs(P& p) noexcept;
void refill_ids(P& p) noexcept;

// A dead G, ready to be set up. nullptr: there is no memory.
[[nodiscard]] inline G* take_dead_g(P& p) noexcept {
  if (p.free_g_count == 0 && !refill_gs(p)) return nullptr;
  G* const g = p.free_gs[--p.free_g_count];
  if (p.free_g_count != 0) {
    // The next G will be written to soon, so its first two cache lines are prefetched.
    auto const* const next = reinterpret_cast<char const*>(p.free_gs[p.free_g_count - 1]);
    __builtin_prefetch(next, 1);
    __builtin_prefetch(next + cache_line_bytes, 1);
  }
  return g;
}

inline void put_dead_g(P& p, G& g) noexcept {
  if (p.free_g_count == free_g_cache_max) spill_gs(p);
  p.free_gs[p.free_g_count++] = &g;
}

[[nodiscard]] inline std::uint64_t next_goroutine_id(P& p) noexcept {
  if (p.next_id == p.id_batch_end) refill_ids(p);
  return p.next_id++;
}

// Moves all of p's cached records to the runtime's pool.
void give_up_records(P& p) noexcept;

[[nodiscard]] sudog* take_sudog(P& p) noexcept;  // nullptr: there is no memory
void put_sudog(P& p, sudog* one) noexcept;

// Drops one of the references of a joinable G. The last one puts the record into the P's cache.
inline void drop_reference(P& p, G& g) noexcept {
  // acquire pairs with the other side's release: whatever it did with the record is over. With one reference left the
  // record belongs to the caller, and no thread can make a second reference.
  if (g.references.load(acquire) == 1) {
    g.references.store(0, relaxed);
  } else if (g.references.fetch_sub(1U, acq_rel) != 1) {
    return;
  }
  put_dead_g(p, g);
}

// Called after the end of a goroutine: gives back the reference to the record that its run held.
inline void recycle(P& p, G& ended) noexcept {
  if (ended.is_joinable) {
    drop_reference(p, ended);
  } else {
    put_dead_g(p, ended);
  }
}

}  // namespace thrum::rt
