// Checks the time limits that rows demand (docs/rows.md), on a machine that other programs use too.
//
//   auto const late = in_one_of(5, [] { return spread_of(rounds()); },
//                               [](spread const& s) { return s.median <= 1ms && s.longest <= 20ms; });
//   EXPECT_LE(late.median, 1ms);
//
// A row is about the median and the maximum of many rounds. So a try is a series of rounds that passes or fails as a
// whole, and one of a few tries has to pass. The best single round of many would prove nothing, because wrong code has
// such rounds too, by chance.
#pragma once

#include "support/busy_machine.h"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <vector>

namespace thrum::test {

// The factor for time limits where everything is much slower (sanitizers, emulators, chaos). With it a test only shows
// that there is progress; the exact limits are checked in the other builds and modes.
[[nodiscard]] inline int slowness() { return limits_count() ? 1 : 20; }

struct spread {
  std::chrono::nanoseconds median;
  std::chrono::nanoseconds longest;
};

inline std::ostream& operator<<(std::ostream& out, spread const& s) {
  return out << s.median.count() / 1000 << " us as a rule, " << s.longest.count() / 1000 << " us at most";
}

// `times` has at least one element.
[[nodiscard]] inline spread spread_of(std::vector<std::chrono::nanoseconds> times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.back()};
}

// Returns the result of the first try that suits, or of the last try. Up to ten times as many short tries are made
// within 5 s, because a machine may be busy for that long.
template <class Measure, class Suits>
[[nodiscard]] auto in_one_of(int tries, Measure measure, Suits suits) {
  auto const busy_until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  auto seen = measure();
  for (int made = 1; !suits(seen); ++made) {
    if (made >= tries && (made >= 10 * tries || std::chrono::steady_clock::now() > busy_until)) break;
    seen = measure();
  }
  return seen;
}

// Repeats the measurement until it returns true, for 40 s. It is for what shows only if two threads have a CPU at the
// same time, which is rare on a busy machine. Wrong code never shows it.
template <class Measure>
[[nodiscard]] bool shows_in_some_try(Measure measure) {
  auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(40);
  while (!measure()) {
    if (std::chrono::steady_clock::now() > limit) return false;
  }
  return true;
}

}  // namespace thrum::test
