// What a row asks of times, on a machine that has other things to do.
//
//   auto const late = in_one_of(5, [] { return spread_of(rounds()); },
//                               [](spread const& s) { return s.median <= 1ms && s.longest <= 20ms; });
//   EXPECT_LE(late.median, 1ms);
//
// A row speaks of the median and of the longest of many rounds. So a try is a series of rounds, right or wrong as a whole, and one
// of a few tries must be right. The best single round of many would say nothing: whoever is right by chance has such rounds, too.
#pragma once

#include "support/busy_machine.h"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <vector>

namespace thrum::test {

// Where everything is slower by much, limits are wider by as much: they show then that somebody got on, and the figures are for the
// other builds and modes.
[[nodiscard]] inline int slowness() { return limits_count() ? 1 : 20; }

struct spread {
  std::chrono::nanoseconds median;
  std::chrono::nanoseconds longest;
};

inline std::ostream& operator<<(std::ostream& out, spread const& s) {
  return out << s.median.count() / 1000 << " us as a rule, " << s.longest.count() / 1000 << " us at most";
}

// Of one round at least.
[[nodiscard]] inline spread spread_of(std::vector<std::chrono::nanoseconds> times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.back()};
}

// What the first try that suits has measured, or the last.
template <class Measure, class Suits>
[[nodiscard]] auto in_one_of(int tries, Measure measure, Suits suits) {
  auto seen = measure();
  while (!suits(seen) && --tries > 0) seen = measure();
  return seen;
}

}  // namespace thrum::test
