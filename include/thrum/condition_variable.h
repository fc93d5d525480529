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

#include <thrum/detail/atomic.h>
#include <thrum/mutex.h>

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

  void notify_slow(how_many which) noexcept;

  detail::atomic<std::uint64_t> state_{0};
};

}  // namespace thrum
