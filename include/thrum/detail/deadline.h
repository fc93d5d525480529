// Time limits as the user says them, as a moment of thrum's clock.
#pragma once

#include <thrum/clock.h>
#include <thrum/detail/duration.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace thrum::detail {

// The largest moment there is means never.
template <class Rep, class Period>
[[nodiscard]] std::int64_t deadline_after(std::chrono::duration<Rep, Period> const& d) noexcept {
  std::int64_t const now_ns = clock_ns();
  std::int64_t const ns = to_ns(d);
  if (ns <= 0) return now_ns;
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  return ns < never - now_ns ? now_ns + ns : never;
}

// attempt(deadline in ns) until it succeeds or the time has come. A clock other than ours has its own pace, and may be set
// meanwhile: when ours says that the time is over, it is asked again.
template <class Clock, class Duration, class Attempt>
[[nodiscard]] bool attempt_until(std::chrono::time_point<Clock, Duration> const& when, Attempt attempt) {
  if constexpr (std::is_same_v<Clock, clock>) {
    return attempt(to_ns(when.time_since_epoch()));
  } else {
    do {
      if (attempt(deadline_after(when - Clock::now()))) return true;
    } while (Clock::now() < when);
    return false;
  }
}

}  // namespace thrum::detail
