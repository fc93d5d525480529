// Disorder on purpose: named points at which a thread may be held up for a moment, so that races with a window of some
// nanoseconds are met in minutes. In builds with checks only, and only when the environment asks for it:
//
//   THRUM_CHAOS=SEED         delays at the points, drawn from the seed: printed, so that it can be given again
//   THRUM_CHAOS_POINTS=LIST  beside it: only at these points, "park,chan.queued": by name, or by the part before the dot
//   THRUM_CHAOS_STOPS=1      beside it: the world is stopped at random moments (boot/chaos.h)
//   THRUM_CHAOS_RESIZE=1     beside it: likewise, and the number of Ps changes every time
//   THRUM_CHAOS_PREEMPT=N    beside it: slices end at random: one in N times that a goroutine leaves the runtime or has
//                            waited, each time if N is 1, and by a storm of signals in the middle of user code
//
// Each thread draws for itself: from the seed, and from how many threads of the run had drawn before its first time. So the
// n-th thread of a run draws the same in every run with that seed; which thread comes first is the kernel's choice. A point that is
// left out draws all the same: the others are held up where they were before.
//
// Elsewhere a point is nothing at all.
#pragma once

#include "base/platform.h"

#include <cstdint>

namespace thrum::rt::os {

struct chaos_settings {
  std::uint64_t seed = 0;               // 0: no delays
  std::uint32_t slices_end_one_in = 0;  // times; 0: they end as they do
  char const* points =
      nullptr;  // as in THRUM_CHAOS_POINTS; nullptr or empty: all. Stays there as long as they are in force
};

#if THRUM_DEBUG_CHECKS
// Where a window is: after what has been done, and before what makes it known or relies on it. The name is that of the file, or
// of what it deals with, and of what has just happened there.
void chaos_point(char const* name) noexcept;
// From now on; every thread begins to draw anew. Not while others are at a point.
void set_chaos(chaos_settings const& chosen) noexcept;
// Whether the current goroutine's slice is over, as if sysmon had said so.
[[nodiscard]] bool chaos_ends_slice() noexcept;

// For tests: what the calling thread draws next; and whether a list, as above, names a point.
[[nodiscard]] std::uint64_t chaos_draw() noexcept;
[[nodiscard]] bool chaos_names(char const* points, char const* name) noexcept;
#else
inline void chaos_point(char const*) noexcept {}
inline void set_chaos(chaos_settings const&) noexcept {}
[[nodiscard]] constexpr bool chaos_ends_slice() noexcept { return false; }
#endif

}  // namespace thrum::rt::os
