// sleep_for, sleep_until: the goroutine waits for a time, and its thread does other work.
//
//   thrum::sleep_for(200us);
//   thrum::sleep_until(start + i * 10ms);   // a steady pace, because delays do not add up
//
// They return when the time is over, never earlier, and on an idle machine some microseconds later. Signals do not end
// them. If the time is over already they return at once; the largest duration never ends. A sleeping goroutine costs 16
// bytes in addition to its stack, and no thread. On a thread that is not a goroutine they block the thread.
#pragma once

#include <thrum/clock.h>
#include <thrum/detail/duration.h>

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace thrum {

namespace detail {

// Both throw std::bad_alloc if there is no memory for the timer.
void sleep_for_ns(std::int64_t ns);
void sleep_until_ns(std::int64_t when_ns);

}  // namespace detail

template <class Rep, class Period>
void sleep_for(std::chrono::duration<Rep, Period> const& d) {
  detail::sleep_for_ns(detail::to_ns(d));
}

template <class Clock, class Duration>
void sleep_until(std::chrono::time_point<Clock, Duration> const& when) {
  if constexpr (std::is_same_v<Clock, clock>) {
    detail::sleep_until_ns(detail::to_ns(when.time_since_epoch()));
  } else {
    // Another clock may run at another speed, and may be set during the sleep.
    for (auto now = Clock::now(); now < when; now = Clock::now()) sleep_for(when - now);
  }
}

}  // namespace thrum
