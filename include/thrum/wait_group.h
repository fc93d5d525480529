// wait_group: waits until a number of things are done.
//
//   thrum::wait_group all;
//   for (auto& item : items) all.go([&] { work(item); });
//   all.wait();
//
// add and done are one atomic operation and never switch to another goroutine. wait parks the goroutine. When wait
// returns, everything that happened before the done() calls is visible, and the wait_group may be destroyed.
#pragma once

#include <thrum/defer.h>
#include <thrum/detail/atomic.h>
#include <thrum/detail/callable.h>
#include <thrum/detail/deadline.h>
#include <thrum/detail/user_frame.h>
#include <thrum/go.h>

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace thrum {

class wait_group {
 public:
  constexpr wait_group() noexcept = default;
  wait_group(wait_group const&) = delete;
  wait_group& operator=(wait_group const&) = delete;

  // Changes the count. If it would become negative or larger than 2^47 - 1, add throws std::logic_error and changes
  // nothing.
  void add(std::int64_t delta);
  [[gnu::always_inline]] void done() {
    add(-1);
    detail::stay_in_users_function();
  }

  // Returns when the count is zero.
  void wait();

  // These return false if the time was over first.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> const& d) {
    return wait_until_ns(detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool wait_until(std::chrono::time_point<Clock, Duration> const& when) {
    return detail::attempt_until(when, [this](std::int64_t ns) { return wait_until_ns(ns); });
  }

  // Runs f as a goroutine that is counted until it ends. It is inlined so that reports show the caller's line as the
  // place of creation.
  template <detail::goroutine_call F>
  [[gnu::always_inline]] void go(F&& f) {
    detail::require_callable(f);
    add(1);
    try {
      thrum::go([this, f = std::optional<std::decay_t<F>>(std::forward<F>(f))]() mutable {
        defer const counted = [this] { done(); };
        defer const dropped = [&f] { f.reset(); };  // before done(), so that f is destroyed when wait() returns
        std::move (*f)();
      });
    } catch (...) {
      done();
      throw;
    }
  }

 private:
  [[nodiscard]] bool wait_until_ns(std::int64_t deadline_ns);
  [[nodiscard]] bool park_until_zero(char const* what, std::int64_t deadline_ns);

  // Twice the count, plus one while goroutines wait. The upper 16 bits hold the number of the run in which they wait.
  detail::atomic<std::uint64_t> state_{0};
};

}  // namespace thrum
