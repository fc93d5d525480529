// Random delays for tests: named points at which a thread may be delayed for a moment, so that races with a window of
// some nanoseconds occur within minutes. They exist only in builds with checks, and only if the environment asks for
// them:
//
//   THRUM_CHAOS=SEED         delays at the points, drawn from the seed, which is printed so that a run can be repeated
//   THRUM_CHAOS_POINTS=LIST  with it: delays only at these points, for example "park,chan.queued". An entry is the name
//                            of a point or the part of the name before the dot
//   THRUM_CHAOS_STOPS=1      with it: the world is stopped at random moments (boot/chaos.h)
//   THRUM_CHAOS_RESIZE=1     with it: the same, and the number of Ps changes every time
//   THRUM_CHAOS_PREEMPT=N    with it: slices end at random. One in N times that a goroutine leaves the runtime or has
//                            waited, its slice ends (every time if N is 1), and many signals end slices in user code
//
// Each thread draws its own numbers. They depend on the seed and on how many threads of the run had drawn before its
// first draw. So the n-th thread of a run draws the same numbers in every run with that seed, but the kernel decides
// which thread is the n-th. A thread also draws at a point that LIST leaves out, so that the delays at the other points
// stay the same.
//
// In builds without checks a point compiles to nothing. No locks; a point may be passed on any stack.
#pragma once

#include "base/platform.h"

#include <cstdint>

namespace thrum::rt::os {

struct chaos_settings {
  std::uint64_t seed = 0;               // 0: no delays
  std::uint32_t slices_end_one_in = 0;  // THRUM_CHAOS_PREEMPT's N; 0: no slice ends at random
  // As in THRUM_CHAOS_POINTS; nullptr or empty means all points. The text must stay valid while the settings are in
  // force.
  char const* points = nullptr;
};

#if THRUM_DEBUG_CHECKS
// Marks the window of a possible race: after a step has been done, and before the code that publishes it or relies on
// it. The name consists of the file or its subject, a dot, and what has just happened there.
void chaos_point(char const* name) noexcept;
// Sets the settings. Every thread begins to draw from the new seed. Must not be called while another thread is at a
// point.
void set_chaos(chaos_settings const& chosen) noexcept;
// Whether the current goroutine's slice is to end, as if sysmon had ended it.
[[nodiscard]] bool chaos_ends_slice() noexcept;

// For tests: the next draw of the calling thread, and whether a list as in THRUM_CHAOS_POINTS contains a point.
[[nodiscard]] std::uint64_t chaos_draw() noexcept;
[[nodiscard]] bool chaos_names(char const* points, char const* name) noexcept;
#else
inline void chaos_point(char const*) noexcept {}
inline void set_chaos(chaos_settings const&) noexcept {}
[[nodiscard]] constexpr bool chaos_ends_slice() noexcept { return false; }
#endif

}  // namespace thrum::rt::os
