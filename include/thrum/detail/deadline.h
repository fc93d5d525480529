// Time limits as the user says them, as a moment of thrum's clock.
#pragma once

#include <thrum/clock.h>
#include <thrum/detail/duration.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace thrum::detail {

inline constexpr std::int64_t no_io_deadline = std::numeric_limits<std::int64_t>::max();

// The largest moment there is means never.
template <class Rep, class Period>
[[nodiscard]] std::int64_t deadline_after(std::chrono::duration<Rep, Period> const& d) noexcept {
  std::int64_t const now_ns = clock_ns();
  std::int64_t const ns = to_ns(d);
  if (ns <= 0) return now_ns;
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  return ns < never - now_ns ? now_ns + ns : never;
}

// Without overflow: a day in the year 9999 is no number of nanoseconds.
template <class Clock, class Duration>
[[nodiscard]] std::int64_t ns_of(std::chrono::time_point<Clock, Duration> const& moment) noexcept {
  return to_ns(moment.time_since_epoch());
}

// A clock other than ours has its own pace, and may be set meanwhile: when ours says that the time is over, ask is_over.
template <class Clock, class Duration>
[[nodiscard]] std::int64_t deadline_at(std::chrono::time_point<Clock, Duration> const& when) {
  if constexpr (std::is_same_v<Clock, clock>) {
    return ns_of(when);
  } else {
    std::int64_t const when_ns = ns_of(when);
    std::int64_t const now_ns = ns_of(Clock::now());
    // A clock may count from a moment to come: then the difference may be too large.
    std::int64_t ahead_ns = 0;
    if (when_ns > now_ns && __builtin_sub_overflow(when_ns, now_ns, &ahead_ns)) ahead_ns = no_io_deadline;
    return deadline_after(std::chrono::nanoseconds(ahead_ns));
  }
}

template <class Clock, class Duration>
[[nodiscard]] bool is_over(std::chrono::time_point<Clock, Duration> const& when) {
  if constexpr (std::is_same_v<Clock, clock>) {
    return true;
  } else {
    return ns_of(Clock::now()) >= ns_of(when);
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
template <class Clock, class Duration>
[[nodiscard]] std::int64_t io_deadline(std::chrono::time_point<Clock, Duration> const& when) {
  return when == std::chrono::time_point<Clock, Duration>::max() ? no_io_deadline : deadline_at(when);
}
template <class Rep, class Period>
[[nodiscard]] std::int64_t io_deadline(std::chrono::duration<Rep, Period> const& from_now) noexcept {
  return deadline_after(from_now);
}

}  // namespace thrum::detail
