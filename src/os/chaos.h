// Disorder on purpose: named points at which a thread may be held up for a moment, so that races with a window of some
// nanoseconds are met in minutes. In builds with checks only, and only when the environment asks for it:
//
//   THRUM_CHAOS=SEED    delays at the points, drawn from the seed: printed, so that it can be given again
//
// Elsewhere a point is nothing at all.
#pragma once

#include "base/platform.h"

#include <cstdint>

namespace thrum::rt::os {

#if THRUM_DEBUG_CHECKS
// Where a window is: after what has been done, and before what makes it known or relies on it.
void chaos_point() noexcept;
void set_chaos(std::uint64_t seed) noexcept;  // 0: none
#else
inline void chaos_point() noexcept {}
inline void set_chaos(std::uint64_t) noexcept {}
#endif

}  // namespace thrum::rt::os
