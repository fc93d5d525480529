// The part of timers with a channel that is no template. Internal: timer.h is the public face.
#pragma once

#include <thrum/chan.h>
#include <thrum/clock.h>

#include <cstdint>

namespace thrum::detail {

using time_receiver = chan<clock::time_point>::receiver;

// A channel with a timer in it, which is not set. They live and end together: when the last handle of the channel goes, the
// timer is stopped. Throws std::bad_alloc.
[[nodiscard]] time_receiver make_timer_channel();

// Sets it to go off after ns, and after that every period_ns if that is not 0. What an earlier setting sent is taken back
// before; true: it was set and nobody had received from it. Throws std::logic_error for a timer that was moved away and
// while no runtime is alive, std::bad_alloc.
bool set_timer(time_receiver const& of, std::int64_t ns, std::int64_t period_ns);
bool stop_timer(time_receiver const& of) noexcept;

// period_ns itself; throws std::invalid_argument unless it is positive.
[[nodiscard]] std::int64_t checked_period(std::int64_t period_ns);

}  // namespace thrum::detail
