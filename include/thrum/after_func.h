// after_func: calls a function later, in a new goroutine.
//
//   thrum::after_func(50ms, [] { std::puts("later"); });      // the handle is dropped, and the call stays set
//
//   auto alarm = thrum::after_func(1s, [&] { give_up(); });
//   if (!alarm.stop()) ...                                    // too late: the function was started
//   alarm.reset(2s);                                          // calls it once more
//
// The handle may be dropped, copied, and kept beyond the run; that does not change the call. The function lives as long
// as there is a handle, a pending call or a call under way. It may run several times at once if it is set again while
// it runs. stop and reset never block. If stop() returns true, the function will not be started. stop does not wait for
// a call that was started already.
//
// Setting a call costs about as much as a `go`, and no thread. Stopping it costs about as much as an uncontended mutex.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/callable.h>
#include <thrum/detail/duration.h>
#include <thrum/detail/func_timer.h>

#include <chrono>
#include <concepts>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace thrum {

// The handle of a function that is called later.
class func_timer {
 public:
  func_timer() noexcept = default;
  func_timer(func_timer const& other) noexcept : state_(other.state_) {
    if (state_ != nullptr) detail::retain_func_timer(*state_);
  }
  func_timer(func_timer&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  func_timer& operator=(func_timer other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~func_timer() {
    if (state_ != nullptr) detail::release_func_timer(*state_);
  }

  // Returns true if a call was pending; it will not come. Returns false if it was started or stopped already.
  bool stop() noexcept { return state_ != nullptr && detail::stop_func_timer(*state_); }

  // Sets the call anew, whether it is pending or not. Returns true if it was pending. Throws std::logic_error while no
  // runtime is alive and for an empty handle, and std::bad_alloc.
  template <class Rep, class Period>
  [[gnu::always_inline]] bool reset(std::chrono::duration<Rep, Period> const& d) {
    if (state_ == nullptr)
      throw std::logic_error("thrum: func_timer::reset: the func_timer is empty; make one with after_func");
    return detail::arm_func_timer(*state_, detail::to_ns(d));
  }

  // Internal: called by after_func.
  explicit func_timer(detail::func_timer_state& owned) noexcept : state_(&owned) {}

 private:
  detail::func_timer_state* state_ = nullptr;
};

namespace detail {

template <class F>
struct func_timer_of final : func_timer_state {
  template <class F2>
  explicit func_timer_of(F2&& from) : f(std::forward<F2>(from)) {
    call = [](func_timer_state& self) { static_cast<func_timer_of&>(self).f(); };
    destroy = [](func_timer_state& self) noexcept { delete &static_cast<func_timer_of&>(self); };
  }
  F f;
};

}  // namespace detail

// Calls f() in a new goroutine when d is over, or at once if d is zero or less. Throws std::invalid_argument for an
// empty callable, and std::logic_error while no runtime is alive.
template <class Rep, class Period, detail::callback F>
[[gnu::always_inline]] inline func_timer after_func(std::chrono::duration<Rep, Period> const& d, F&& f) {
  detail::require_callable(f);
  auto* const state = new detail::func_timer_of<std::decay_t<F>>(std::forward<F>(f));
  func_timer made(*state);
  detail::make_func_timer(*state);
  detail::arm_func_timer(*state, detail::to_ns(d));
  return made;
}

}  // namespace thrum
