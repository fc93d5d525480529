// timer, ticker, after: times that can be received from a channel.
//
//   thrum::timer limit(50ms);
//   thrum::select(thrum::on_recv(results, use), thrum::on_recv(limit.c(), [](auto) { give_up(); }));
//
//   thrum::ticker tick(10ms);
//   for (clock::time_point due : tick.c()) ...            // leave the loop with break: the channel is never closed
//
//   auto due = thrum::after(1s).recv();                   // a timer that is never stopped
//
// The received value is the time at which the timer was due. After stop() or reset() has returned, nothing of an
// earlier setting can be received: a time that was in the channel is removed, and the timer counts as not fired. The
// channel reports no buffer. A ticker drops ticks if its receiver is slow. A time of zero or less fires at once, and
// the largest duration never fires.
//
// Thread safety: all of these may be called from any goroutine or thread while a runtime is alive. Only receiving
// blocks.
//
// Cost: setting a timer costs about as much as a channel operation, and no thread. A timer is stopped and freed when it
// is destroyed or when the last handle of its channel is destroyed, so `after` in a select needs no stop.
#pragma once

#include <thrum/clock.h>
#include <thrum/detail/duration.h>
#include <thrum/detail/timer_channel.h>

#include <chrono>
#include <utility>

namespace thrum {

class timer {
 public:
  // Throws std::logic_error while no runtime is alive, and std::bad_alloc. So does reset.
  template <class Rep, class Period>
  explicit timer(std::chrono::duration<Rep, Period> const& d) : c_(detail::make_timer_channel()) {
    detail::set_timer(c_, detail::to_ns(d), 0);
  }
  timer(timer&&) noexcept = default;
  timer& operator=(timer&& other) noexcept {
    stop();
    c_ = std::move(other.c_);
    return *this;
  }
  ~timer() { stop(); }

  [[nodiscard]] chan<clock::time_point>::receiver const& c() const noexcept { return c_; }

  // Returns true if the timer was set and no time was received from it; it will not fire. Returns false if its time was
  // received, or if it was stopped already.
  bool stop() noexcept { return detail::stop_timer(c_); }

  // Sets the timer anew, whether it has fired or not. Returns what stop() would have returned.
  template <class Rep, class Period>
  bool reset(std::chrono::duration<Rep, Period> const& d) {
    return detail::set_timer(c_, detail::to_ns(d), 0);
  }

 private:
  detail::time_receiver c_;
};

class ticker {
 public:
  // Throws std::invalid_argument if the period is not positive, and otherwise the same as timer.
  template <class Rep, class Period>
  explicit ticker(std::chrono::duration<Rep, Period> const& period) : c_(detail::make_timer_channel()) {
    reset(period);
  }
  ticker(ticker&&) noexcept = default;
  ticker& operator=(ticker&& other) noexcept {
    stop();
    c_ = std::move(other.c_);
    return *this;
  }
  ~ticker() { stop(); }

  [[nodiscard]] chan<clock::time_point>::receiver const& c() const noexcept { return c_; }

  void stop() noexcept { detail::stop_timer(c_); }

  // The next tick comes one whole period from the call on.
  template <class Rep, class Period>
  void reset(std::chrono::duration<Rep, Period> const& period) {
    std::int64_t const ns = detail::checked_period(detail::to_ns(period));
    detail::set_timer(c_, ns, ns);
  }

 private:
  detail::time_receiver c_;
};

// A channel from which one time can be received, when d is over.
template <class Rep, class Period>
[[nodiscard]] chan<clock::time_point>::receiver after(std::chrono::duration<Rep, Period> const& d) {
  detail::time_receiver c = detail::make_timer_channel();
  detail::set_timer(c, detail::to_ns(d), 0);
  return c;
}

}  // namespace thrum
