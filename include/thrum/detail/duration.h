// Converts any duration to nanoseconds, without overflow and never shorter than given.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

namespace thrum::detail {

// Rounds up. A value that does not fit becomes the largest or smallest possible one. Not-a-number becomes zero.
template <class Rep, class Period>
[[nodiscard]] constexpr std::int64_t to_ns(std::chrono::duration<Rep, Period> const& d) noexcept {
  using limits = std::numeric_limits<std::int64_t>;
  using factor = std::ratio_divide<Period, std::nano>;
  if constexpr (std::is_integral_v<Rep> && sizeof(Rep) <= sizeof(std::int64_t) && factor::den == 1) {
    if constexpr (std::is_unsigned_v<Rep>) {
      if (d.count() > static_cast<std::uint64_t>(limits::max() / factor::num)) return limits::max();
    } else {
      if (d.count() > limits::max() / factor::num) return limits::max();
      if (d.count() < limits::min() / factor::num) return limits::min();
    }
    return static_cast<std::int64_t>(d.count()) * factor::num;
  } else {
    auto const ns = static_cast<long double>(d.count()) * factor::num / factor::den;
    if (!(ns == ns)) return 0;
    if (ns >= static_cast<long double>(limits::max())) return limits::max();
    if (ns <= static_cast<long double>(limits::min())) return limits::min();
    auto const whole = static_cast<std::int64_t>(ns);
    return static_cast<long double>(whole) < ns ? whole + 1 : whole;
  }
}

}  // namespace thrum::detail
