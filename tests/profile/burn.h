// Functions that use the CPU, and can be told apart in a profile.
#pragma once

#include "base/platform.h"
#include "profile/profile_reader.h"
#include "support/hogs.h"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace thrum::test {

// Compute for this much CPU time of the calling thread.
[[gnu::noinline]] inline void burn_little(std::chrono::nanoseconds cpu_time) {
  auto const until = cpu_time_of_thread() + cpu_time;
  while (cpu_time_of_thread() < until) {
    for (int i = 0; i < 10'000; ++i) asm volatile("");
  }
}
[[gnu::noinline]] inline void burn_much(std::chrono::nanoseconds cpu_time) {
  auto const until = cpu_time_of_thread() + cpu_time;
  while (cpu_time_of_thread() < until) {
    for (int i = 0; i < 10'000; ++i) asm volatile("");
  }
  asm volatile("");
}

// The share of the CPU time, in percent, of the samples that `is_wanted(sample)`.
template <class Wanted>
double percent_of(read_profile_result const& from, Wanted is_wanted) {
  auto const all = sum_of(from, 1, [](profile_sample const&) { return true; });
  return all == 0 ? 0 : 100.0 * static_cast<double>(sum_of(from, 1, is_wanted)) / static_cast<double>(all);
}
inline double percent_in(read_profile_result const& from, std::string_view function) {
  return percent_of(from, [&](profile_sample const& one) { return one.has(function); });
}

}  // namespace thrum::test
