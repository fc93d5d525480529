// Tries for a little while before a goroutine parks.
#pragma once

#include "base/ablation.h"
#include "base/atomic.h"
#include "base/heuristics.h"
#include "core/m.h"
#include "core/p.h"
#include "core/sched.h"
#include "os/clock.h"

#include <algorithm>
#include <cstdint>

namespace thrum::rt {

// A park costs some hundreds of nanoseconds here and more on the releasing side. So a short wait first pays off if the
// owner runs on another P and this P has nothing else to do.
//
// Repeats attempt(), ever more seldom, until it returns true, the time is over, or this P has something better to do.
template <class Attempt>
[[nodiscard]] bool spin_before_park(M const& m, std::int64_t patience_ns, Attempt attempt) noexcept {
  if (m.sched.procs.size() == 1) return false;
  std::int64_t const until_ns = os::monotonic_ns() + patience_ns;
  for (int pauses = spin_pauses_first;; pauses = std::min(pauses * 2, spin_pauses_max)) {
    for (int i = 0; i < pauses; ++i) cpu_relax();
    if (attempt()) return true;
    if (!m.p->queue.is_empty_to_owner() || m.p->attention.load(relaxed) != 0) return false;
    if (os::monotonic_ns() >= until_ns) return false;
  }
}

// For a goroutine that has not waited yet.
template <class Attempt>
[[nodiscard]] bool spin_as_newcomer(M const& m, Attempt attempt) noexcept {
  return applies(heuristic::newcomer_spin) && spin_before_park(m, newcomer_spin_ns, attempt);
}

}  // namespace thrum::rt
