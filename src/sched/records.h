// Dead Gs, sudogs and goroutine ids: a P's own cache first, the runtime's behind it (S06, S26, S30).
//
// All run on the P's owner, on a G or on g0, and take free_lock only when a cache is empty or full.
#pragma once

#include "core/m.h"
#include "core/sched.h"

namespace thrum::rt {

// A dead G, ready to be set up; nullptr when no memory can be had.
[[nodiscard]] G* take_dead_g(P& p) noexcept;
void put_dead_g(P& p, G& g) noexcept;

[[nodiscard]] std::uint64_t next_goroutine_id(P& p) noexcept;

[[nodiscard]] sudog* take_sudog(P& p) noexcept;  // nullptr when no memory can be had
void put_sudog(P& p, sudog* one) noexcept;

// Drops one of the references of a joinable G; the last one puts the record into the P's cache.
inline void drop_reference(P& p, G& g) noexcept {
  // acquire pairs with the other side's release: whatever it did with the record is over. With one reference left it is
  // ours, and nobody can make a second one.
  if (g.references.load(acquire) == 1 || g.references.fetch_sub(1U, acq_rel) == 1) put_dead_g(p, g);
}

}  // namespace thrum::rt
