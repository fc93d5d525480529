// condition_variable: waits until somebody says that something has changed.
//
//   std::unique_lock lock(m);                        // m is a thrum::mutex
//   changed.wait(lock, [&] { return !queue.empty(); });
//   ...
//   { std::lock_guard guard(m); queue.push(x); }
//   changed.notify_one();
//
// wait gives the mutex up, parks the goroutine, and has the mutex again when it returns. notify_one wakes the one that
// waits longest, notify_all wakes all who wait; with nobody there they are one load. There are no spurious wake-ups. The
// notify calls never switch. It may be destroyed as soon as all who waited have been woken. Waiting with a lock that is
// not held ends the program.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/atomic.h>
#include <thrum/detail/deadline.h>
#include <thrum/mutex.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace thrum {

class condition_variable {
 public:
  constexpr condition_variable() noexcept = default;
  condition_variable(condition_variable const&) = delete;
  condition_variable& operator=(condition_variable const&) = delete;

  void wait(std::unique_lock<mutex>& lock);

  template <class Predicate>
  void wait(std::unique_lock<mutex>& lock, Predicate holds) {
    while (!holds()) wait(lock);
  }

  // When the time is over they return as well: cv_status::timeout, or what the predicate says then.
  template <class Rep, class Period>
  std::cv_status wait_for(std::unique_lock<mutex>& lock, std::chrono::duration<Rep, Period> const& d) {
    return wait_until_ns(lock, detail::deadline_after(d));
  }
  template <class Rep, class Period, class Predicate>
  bool wait_for(std::unique_lock<mutex>& lock, std::chrono::duration<Rep, Period> const& d, Predicate holds) {
    return holds_by(lock, detail::deadline_after(d), holds);
  }
  // A clock that was set back meanwhile makes it return without a notification: only the caller can look whether one came.
  template <class Clock, class Duration>
  std::cv_status wait_until(std::unique_lock<mutex>& lock, std::chrono::time_point<Clock, Duration> const& when) {
    std::cv_status const how = wait_until_ns(lock, detail::deadline_at(when));
    return how == std::cv_status::timeout && !detail::is_over(when) ? std::cv_status::no_timeout : how;
  }
  template <class Clock, class Duration, class Predicate>
  bool wait_until(std::unique_lock<mutex>& lock, std::chrono::time_point<Clock, Duration> const& when,
                  Predicate holds) {
    return detail::attempt_until(when, [&](std::int64_t ns) { return holds_by(lock, ns, holds); });
  }

  void notify_one() noexcept {
    // relaxed: who must be seen has set it under the mutex, which we have had since
    if (state_.load(detail::relaxed) != 0) notify_slow(how_many::one);
  }

  void notify_all() noexcept {
    if (state_.load(detail::relaxed) != 0) notify_slow(how_many::all);  // as above
  }

 private:
  enum class how_many : bool { one, all };
  static constexpr std::uint64_t waited_for = 1;  // in the run whose number stands above; under the bucket's lock

  std::cv_status wait_until_ns(std::unique_lock<mutex>& lock, std::int64_t deadline_ns);
  void notify_slow(how_many which) noexcept;

  template <class Predicate>
  bool holds_by(std::unique_lock<mutex>& lock, std::int64_t deadline_ns, Predicate& holds) {
    while (!holds()) {
      if (wait_until_ns(lock, deadline_ns) == std::cv_status::timeout) return holds();
    }
    return true;
  }

  detail::atomic<std::uint64_t> state_{0};
};

}  // namespace thrum
