// Disorder on purpose: named points at which a thread may be held up for a moment, so that races with a window of some
// nanoseconds are met in minutes. In builds with checks only, and only when the environment asks for it:
//
//   THRUM_CHAOS=SEED         delays at the points, drawn from the seed: printed, so that it can be given again
//   THRUM_CHAOS_STOPS=1      beside it: the world is stopped at random moments (boot/chaos.h)
//   THRUM_CHAOS_RESIZE=1     beside it: likewise, and the number of Ps changes every time
//   THRUM_CHAOS_PREEMPT=1    beside it: slices end at random: whenever a goroutine leaves the runtime or has waited, and by a
//                            storm of signals in the middle of user code
//
// The same seed draws the same for a thread with the same id; which thread comes first is the kernel's choice.
//
// Elsewhere a point is nothing at all.
#pragma once

#include "base/platform.h"

#include <cstdint>

namespace thrum::rt::os {

enum class slices : bool { as_they_are, end_at_random };

#if THRUM_DEBUG_CHECKS
// Where a window is: after what has been done, and before what makes it known or relies on it.
void chaos_point() noexcept;
void set_chaos(std::uint64_t seed, slices how) noexcept;  // 0: none
// Whether the current goroutine's slice is over, as if sysmon had said so.
[[nodiscard]] bool chaos_ends_slice() noexcept;
#else
inline void chaos_point() noexcept {}
inline void set_chaos(std::uint64_t, slices) noexcept {}
[[nodiscard]] constexpr bool chaos_ends_slice() noexcept { return false; }
#endif

}  // namespace thrum::rt::os
