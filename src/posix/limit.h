// The time limits of the C library's calls, as moments of the monotonic clock.
#pragma once

#include "posix/watch.h"

#include <cstdint>
#include <limits>

#include <time.h>

namespace thrum::posix {

inline constexpr std::int64_t ns_per_s = 1'000'000'000;

[[nodiscard]] inline bool is_valid(timespec const& t) noexcept {
  return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < ns_per_s;
}

// For a valid timespec. A time that is too far away for any clock becomes without_limit.
[[nodiscard]] inline std::int64_t in_ns(timespec const& t) noexcept {
  constexpr std::int64_t s_max = std::numeric_limits<std::int64_t>::max() / ns_per_s - 1;
  return t.tv_sec > s_max ? without_limit : t.tv_sec * ns_per_s + t.tv_nsec;
}

[[nodiscard]] inline std::int64_t deadline_after(std::int64_t ns) noexcept {
  std::int64_t const now = now_ns();
  return ns >= without_limit - now ? without_limit : now + ns;
}

// As in poll(2), a negative number means no limit.
[[nodiscard]] inline std::int64_t deadline_after_ms(int ms) noexcept {
  return ms < 0 ? without_limit : deadline_after(std::int64_t{ms} * 1'000'000);
}

}  // namespace thrum::posix
