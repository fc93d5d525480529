// clock: the time by which goroutines sleep and timers go off.
//
// Steady: it never goes back, and a change of the wall clock does not touch it. It stands still while the machine is
// suspended. A reading costs some tens of nanoseconds, and may be taken on any thread.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <chrono>
#include <cstdint>

namespace thrum {

namespace detail {
[[nodiscard]] std::int64_t clock_ns() noexcept;
}  // namespace detail

struct clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock>;
  static constexpr bool is_steady = true;

  [[nodiscard]] static time_point now() noexcept { return time_point(duration(detail::clock_ns())); }
};

}  // namespace thrum
