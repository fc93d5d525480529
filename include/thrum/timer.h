// timer, ticker, after: times that can be received from a channel.
//
//   thrum::timer limit(50ms);
//   thrum::select(thrum::on_recv(results, use), thrum::on_recv(limit.c(), [](auto) { give_up(); }));
//
//   thrum::ticker tick(10ms);
//   for (clock::time_point due : tick.c()) ...            // until the loop is left: the channel is never closed
//
//   auto due = thrum::after(1s).recv();                   // a timer that nobody will stop
//
// What is received is the time at which it was due. When stop() or reset() has returned, nothing of an earlier setting can
// be received any more: what lay in the channel is taken back, and counts as not yet gone off. The channel shows no buffer;
// a ticker whose receiver is slow leaves ticks out. A time of zero or less goes off at once, the largest duration never.
//
// Thread safety: all may be called from any goroutine or thread while a runtime is alive. Nothing here blocks but receiving. Setting a timer costs
// about as much as a channel operation, and no thread. One that is destroyed, or whose last channel handle goes, is stopped
// and leaves nothing behind: `after` in a select needs no stop.
#pragma once

#include <thrum/clock.h>
#include <thrum/detail/duration.h>
#include <thrum/detail/timer_channel.h>

#include <chrono>
#include <utility>

namespace thrum {

class timer {
 public:
  // Throws std::logic_error while no runtime is alive, std::bad_alloc; so does reset.
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

  // True: it will not go off, and nobody has received from it. False: somebody has, or it was stopped before.
  bool stop() noexcept { return detail::stop_timer(c_); }

  // Sets it anew, whether it has gone off or not. Answers what stop() would have answered.
  template <class Rep, class Period>
  bool reset(std::chrono::duration<Rep, Period> const& d) {
    return detail::set_timer(c_, detail::to_ns(d), 0);
  }

 private:
  detail::time_receiver c_;
};

class ticker {
 public:
  // Throws std::invalid_argument unless the period is positive; otherwise as timer.
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

  // The next tick is a whole period from now.
  template <class Rep, class Period>
  void reset(std::chrono::duration<Rep, Period> const& period) {
    std::int64_t const ns = detail::checked_period(detail::to_ns(period));
    detail::set_timer(c_, ns, ns);
  }

 private:
  detail::time_receiver c_;
};

// A channel from which the time can be received once, when d is over.
template <class Rep, class Period>
[[nodiscard]] chan<clock::time_point>::receiver after(std::chrono::duration<Rep, Period> const& d) {
  detail::time_receiver c = detail::make_timer_channel();
  detail::set_timer(c, detail::to_ns(d), 0);
  return c;
}

}  // namespace thrum
