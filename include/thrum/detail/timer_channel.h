// The part of timers with a channel that is not a template. Internal: the public header is timer.h.
#pragma once

#include <thrum/chan.h>
#include <thrum/clock.h>

#include <cstdint>

namespace thrum::detail {

using time_receiver = chan<clock::time_point>::receiver;

// Makes a channel with a timer that is not set. Both have the same lifetime: when the last handle of the channel is
// destroyed, the timer is stopped. Throws std::bad_alloc.
[[nodiscard]] time_receiver make_timer_channel();

// Sets the timer to fire after ns, and then every period_ns if that is not 0. A time that an earlier setting has sent
// is removed first. Returns true if the timer was set and its time was not received. Throws std::logic_error for a
// timer that was moved from and while no runtime is alive, and std::bad_alloc.
bool set_timer(time_receiver const& of, std::int64_t ns, std::int64_t period_ns);
bool stop_timer(time_receiver const& of) noexcept;

// Returns period_ns. Throws std::invalid_argument if it is not positive.
[[nodiscard]] std::int64_t checked_period(std::int64_t period_ns);

}  // namespace thrum::detail
