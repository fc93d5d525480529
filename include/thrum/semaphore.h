// semaphore: a number of permits that are acquired and released, in the order of the requests.
//
//   thrum::semaphore slots(8);
//   slots.acquire();                                  // waits, parked, until a permit is free
//   thrum::defer back = [&] { slots.release(); };
//
// First come, first served: if a request wants more permits than there are, it waits at the head of the queue, and
// later requests wait behind it even if they are smaller. So a large request is not overtaken forever. Released permits
// go directly to the waiting goroutines, so a newcomer cannot take them. The goroutine that releases a permit need not
// be the one that acquired it.
//
// If there is no contention, each operation is one atomic operation. release and try_acquire never switch to another
// goroutine. The semaphore may be destroyed as soon as an acquire that waited has returned. A negative number, or a
// count above max(), ends the program.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/atomic.h>
#include <thrum/detail/deadline.h>
#include <thrum/detail/user_frame.h>

#include <chrono>
#include <cstdint>

namespace thrum {

namespace rt {
class g_list;
class wait_bucket;
}  // namespace rt

class semaphore {
 public:
  // The largest number of permits.
  static constexpr std::int64_t max() noexcept { return (std::int64_t{1} << 47U) - 1; }

  explicit semaphore(std::int64_t permits = 0) noexcept : state_(one * static_cast<std::uint64_t>(permits)) {
    if (!is_valid(permits)) refuse("semaphore", permits);
  }
  semaphore(semaphore const&) = delete;
  semaphore& operator=(semaphore const&) = delete;

  void acquire(std::int64_t n = 1) {
    std::uint64_t seen = state_.load(detail::relaxed);
    if (!take(seen, n)) acquire_slow(n);
  }

  [[nodiscard]] bool try_acquire(std::int64_t n = 1) noexcept {
    std::uint64_t seen = state_.load(detail::relaxed);
    return take(seen, n) || try_acquire_slow(n);
  }

  // These return false if the time was over first.
  template <class Rep, class Period>
  [[nodiscard]] bool try_acquire_for(std::chrono::duration<Rep, Period> const& d, std::int64_t n = 1) {
    return try_acquire(n) || try_acquire_until_ns(detail::deadline_after(d), n);
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_acquire_until(std::chrono::time_point<Clock, Duration> const& when, std::int64_t n = 1) {
    return try_acquire(n) ||
           detail::attempt_until(when, [this, n](std::int64_t ns) { return try_acquire_until_ns(ns, n); });
  }

  [[gnu::always_inline]] void release(std::int64_t n = 1) noexcept {
    std::uint64_t seen = state_.load(detail::relaxed);
    while ((seen & waited_for) == 0 && is_valid(n) && n <= max() - count_of(seen)) {
      // release pairs with the acquire of the goroutine that takes the permits. After this the semaphore may be
      // destroyed.
      if (state_.compare_exchange_weak(seen, seen + one * static_cast<std::uint64_t>(n), detail::release,
                                       detail::relaxed)) {
        return;
      }
    }
    release_slow(n);
    detail::stay_in_users_function();
  }

 private:
  // Goroutines stand in the wait table. Changed under the bucket's lock. The bits above the count hold the number of
  // the run for which the flag is valid.
  static constexpr std::uint64_t waited_for = 1;
  static constexpr std::uint64_t one = 2;

  static constexpr bool is_valid(std::int64_t n) noexcept { return n >= 0 && n <= max(); }
  static constexpr std::int64_t count_of(std::uint64_t state) noexcept {
    return static_cast<std::int64_t>(state / one) & max();
  }
  [[noreturn]] static void refuse(char const* what, std::int64_t n) noexcept;

  // Takes n permits, unless goroutines wait or there are too few. Stores the state that it found in `seen`.
  [[nodiscard]] bool take(std::uint64_t& seen, std::int64_t n) noexcept {
    while ((seen & waited_for) == 0 && is_valid(n) && n <= count_of(seen)) {
      // acquire pairs with the release of the goroutines that gave the permits
      if (state_.compare_exchange_weak(seen, seen - one * static_cast<std::uint64_t>(n), detail::acquire,
                                       detail::relaxed)) {
        return true;
      }
    }
    return false;
  }

  void acquire_slow(std::int64_t n);
  [[nodiscard]] bool try_acquire_slow(std::int64_t n) noexcept;
  void release_slow(std::int64_t n) noexcept;
  [[nodiscard]] bool release_to_waiters(std::int64_t n, std::uint32_t epoch, std::uintptr_t site) noexcept;
  [[nodiscard]] bool try_acquire_until_ns(std::int64_t deadline_ns, std::int64_t n);
  [[nodiscard]] bool wait_to_acquire(std::int64_t n, char const* what, std::int64_t deadline_ns);
  void serve(rt::wait_bucket& bucket, std::int64_t given, rt::g_list& woken, std::uint32_t epoch) noexcept;
  enum class more_to_serve : bool { no, perhaps };
  [[nodiscard]] more_to_serve serve_some(rt::wait_bucket& bucket, std::int64_t given, rt::g_list& woken,
                                         std::uint32_t epoch) noexcept;
  void release_broken_promises() noexcept;
  void give_locked(rt::wait_bucket& bucket, std::int64_t n, rt::g_list& woken, std::uint32_t epoch) noexcept;

  detail::atomic<std::uint64_t> state_;
  detail::atomic<std::uint64_t> promised_{0};  // permits given to woken goroutines that have not run yet
};

}  // namespace thrum
