// condition_variable: waits until another goroutine or thread notifies it of a change.
//
//   std::unique_lock lock(m);                        // m is a thrum::mutex
//   changed.wait(lock, [&] { return !queue.empty(); });
//   ...
//   { std::lock_guard guard(m); queue.push(x); }
//   changed.notify_one();
//
// wait unlocks the mutex, parks the goroutine, and locks the mutex again before it returns. notify_one wakes the
// goroutine that has waited longest, and notify_all wakes all of them. If no goroutine waits, both are one load. They
// never switch to another goroutine. There are no spurious wake-ups. The condition_variable may be destroyed as soon as
// all waiters have been woken. Waiting with a lock that is not held ends the program.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/atomic.h>
#include <thrum/detail/deadline.h>
#include <thrum/detail/user_frame.h>
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

  // With a time limit, wait returns std::cv_status::timeout when the time is over. The forms with a predicate return
  // what the predicate says then.
  template <class Rep, class Period>
  std::cv_status wait_for(std::unique_lock<mutex>& lock, std::chrono::duration<Rep, Period> const& d) {
    return wait_until_ns(lock, detail::deadline_after(d));
  }
  template <class Rep, class Period, class Predicate>
  bool wait_for(std::unique_lock<mutex>& lock, std::chrono::duration<Rep, Period> const& d, Predicate holds) {
    return holds_by(lock, detail::deadline_after(d), holds);
  }
  // If the clock is set back meanwhile, wait_until returns no_timeout without a notification. The caller has to check
  // whether the condition holds.
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

  [[gnu::always_inline]] void notify_one() noexcept {
    // relaxed, because a waiter that has to be woken has set the flag under the mutex, and the notifier has locked that
    // mutex since then
    if (state_.load(detail::relaxed) == 0) return;
    notify_slow(how_many::one);
    detail::stay_in_users_function();
  }

  [[gnu::always_inline]] void notify_all() noexcept {
    if (state_.load(detail::relaxed) == 0) return;  // relaxed as in notify_one
    notify_slow(how_many::all);
    detail::stay_in_users_function();
  }

 private:
  enum class how_many : bool { one, all };
  // Changed under the bucket's lock. The bits above hold the number of the run for which the flag is valid.
  static constexpr std::uint64_t waited_for = 1;

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
