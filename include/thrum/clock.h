// clock: the time that sleeps and timers use.
//
// It is steady: it never goes back, and changes of the wall clock do not affect it. It stands still while the machine
// is suspended. Reading it costs some tens of nanoseconds and is possible on any thread.
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
