// Converts the time limits that users give to points in time of thrum's clock.
#pragma once

#include <thrum/clock.h>
#include <thrum/detail/duration.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

namespace thrum::detail {

// The largest point in time.
inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

template <class Rep, class Period>
[[nodiscard]] std::int64_t deadline_after(std::chrono::duration<Rep, Period> const& d) noexcept {
  std::int64_t const now_ns = clock_ns();
  std::int64_t const ns = to_ns(d);
  if (ns <= 0) return now_ns;
  return ns < never - now_ns ? now_ns + ns : never;
}

// 128 bits avoid an overflow: a day in the year 9999 does not fit into 64 bits of nanoseconds, and neither does the
// time since the year 1601.
__extension__ using wide_int = __int128;

template <class Clock, class Rep, class Period>
[[nodiscard]] auto wide_ns_of(
    std::chrono::time_point<Clock, std::chrono::duration<Rep, Period>> const& moment) noexcept {
  using factor = std::ratio_divide<Period, std::nano>;
  using wide = std::conditional_t<std::is_integral_v<Rep>, wide_int, long double>;
  return static_cast<wide>(moment.time_since_epoch().count()) * factor::num / factor::den;
}

// Another clock may run at another speed, and may be set meanwhile. So when thrum's clock says that the time is over,
// call is_over to check.
template <class Clock, class Duration>
[[nodiscard]] std::int64_t deadline_at(std::chrono::time_point<Clock, Duration> const& when) {
  if constexpr (std::is_same_v<Clock, clock>) {
    return to_ns(when.time_since_epoch());
  } else {
    auto const ahead_ns = wide_ns_of(when) - wide_ns_of(Clock::now());
    if (!(ahead_ns > 0)) return clock_ns();
    if (ahead_ns >= never) return never;
    return deadline_after(std::chrono::nanoseconds(static_cast<std::int64_t>(ahead_ns) + 1));  // rounded up
  }
}

template <class Clock, class Duration>
[[nodiscard]] bool is_over(std::chrono::time_point<Clock, Duration> const& when) {
  if constexpr (std::is_same_v<Clock, clock>) {
    return true;
  } else {
    return !(wide_ns_of(Clock::now()) < wide_ns_of(when));  // written this way so that not-a-number counts as over
  }
}

// Calls attempt(deadline in ns) until it succeeds or the time is over.
template <class Clock, class Duration, class Attempt>
[[nodiscard]] bool attempt_until(std::chrono::time_point<Clock, Duration> const& when, Attempt attempt) {
  do {
    if (attempt(deadline_at(when))) return true;
  } while (!is_over(when));
  return false;
}

// The deadline of a descriptor: a point in time, or a duration from the call on.
inline constexpr std::int64_t no_io_deadline = never;

template <class Clock, class Duration>
[[nodiscard]] std::int64_t io_deadline(std::chrono::time_point<Clock, Duration> const& when) {
  return when == std::chrono::time_point<Clock, Duration>::max() ? no_io_deadline : deadline_at(when);
}
template <class Rep, class Period>
[[nodiscard]] std::int64_t io_deadline(std::chrono::duration<Rep, Period> const& from_now) noexcept {
  return deadline_after(from_now);
}

}  // namespace thrum::detail
