// Time limits as the user says them, as a moment of thrum's clock.
#pragma once

#include <thrum/clock.h>
#include <thrum/detail/duration.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

namespace thrum::detail {

// The largest moment there is.
inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

template <class Rep, class Period>
[[nodiscard]] std::int64_t deadline_after(std::chrono::duration<Rep, Period> const& d) noexcept {
  std::int64_t const now_ns = clock_ns();
  std::int64_t const ns = to_ns(d);
  if (ns <= 0) return now_ns;
  return ns < never - now_ns ? now_ns + ns : never;
}

// Without overflow: a day in the year 9999 is no number of nanoseconds in 64 bits, nor is now since the year 1601.
__extension__ using wide_int = __int128;

template <class Clock, class Rep, class Period>
[[nodiscard]] auto wide_ns_of(
    std::chrono::time_point<Clock, std::chrono::duration<Rep, Period>> const& moment) noexcept {
  using factor = std::ratio_divide<Period, std::nano>;
  using wide = std::conditional_t<std::is_integral_v<Rep>, wide_int, long double>;
  return static_cast<wide>(moment.time_since_epoch().count()) * factor::num / factor::den;
}

// A clock other than ours has its own pace, and may be set meanwhile: when ours says that the time is over, ask is_over.
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
    return !(wide_ns_of(Clock::now()) < wide_ns_of(when));  // so not-a-number is over
  }
}

// attempt(deadline in ns) until it succeeds or the time has come.
template <class Clock, class Duration, class Attempt>
[[nodiscard]] bool attempt_until(std::chrono::time_point<Clock, Duration> const& when, Attempt attempt) {
  do {
    if (attempt(deadline_at(when))) return true;
  } while (!is_over(when));
  return false;
}

// The deadline of a descriptor: a moment, or a time from now.
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
