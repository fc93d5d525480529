// semaphore: a number of permits to be taken and given back, in order of coming.
//
//   thrum::semaphore slots(8);
//   slots.acquire();                                  // waits, parked, until there is one
//   thrum::defer back = [&] { slots.release(); };
//
// First come, first served: a request that is larger than what is there waits at the head, and smaller ones that come later
// wait behind it, so that it is not overtaken for ever. Permits that are released go straight to those who wait: nobody
// can snatch them. Whoever releases need not have acquired.
//
// Uncontended, each operation is one atomic operation. release and try_acquire never switch. It may be destroyed as soon
// as an acquire that waited has returned. A negative number, or a count above max(), ends the program.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/atomic.h>
#include <thrum/detail/deadline.h>

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

  // False: the time was over first.
  template <class Rep, class Period>
  [[nodiscard]] bool try_acquire_for(std::chrono::duration<Rep, Period> const& d, std::int64_t n = 1) {
    return try_acquire(n) || try_acquire_until_ns(detail::deadline_after(d), n);
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_acquire_until(std::chrono::time_point<Clock, Duration> const& when, std::int64_t n = 1) {
    return try_acquire(n) ||
           detail::attempt_until(when, [this, n](std::int64_t ns) { return try_acquire_until_ns(ns, n); });
  }

  void release(std::int64_t n = 1) noexcept {
    std::uint64_t seen = state_.load(detail::relaxed);
    while ((seen & waited_for) == 0 && is_valid(n) && n <= max() - count_of(seen)) {
      // release pairs with the acquire of whoever takes them; after this the semaphore may be gone
      if (state_.compare_exchange_weak(seen, seen + one * static_cast<std::uint64_t>(n), detail::release,
                                       detail::relaxed)) {
        return;
      }
    }
    release_slow(n);
  }

 private:
  // Somebody stands in the wait table; changed under its bucket's lock. Meant for the run whose number stands above the
  // count.
  static constexpr std::uint64_t waited_for = 1;
  static constexpr std::uint64_t one = 2;

  static constexpr bool is_valid(std::int64_t n) noexcept { return n >= 0 && n <= max(); }
  static constexpr std::int64_t count_of(std::uint64_t state) noexcept {
    return static_cast<std::int64_t>(state / one) & max();
  }
  [[noreturn]] static void refuse(char const* what, std::int64_t n) noexcept;

  // Unless somebody waits or there are too few; `seen` is what was there.
  [[nodiscard]] bool take(std::uint64_t& seen, std::int64_t n) noexcept {
    while ((seen & waited_for) == 0 && is_valid(n) && n <= count_of(seen)) {
      // acquire pairs with the release of those who gave them
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
  [[nodiscard]] bool release_to_waiters(std::int64_t n, std::uint32_t epoch) noexcept;
  [[nodiscard]] bool try_acquire_until_ns(std::int64_t deadline_ns, std::int64_t n);
  [[nodiscard]] bool wait_to_acquire(std::int64_t n, char const* what, std::int64_t deadline_ns);
  void serve(rt::wait_bucket& bucket, std::int64_t given, rt::g_list& woken, std::uint32_t epoch) noexcept;
  enum class more_to_serve : bool { no, perhaps };
  [[nodiscard]] more_to_serve serve_some(rt::wait_bucket& bucket, std::int64_t given, rt::g_list& woken,
                                         std::uint32_t epoch) noexcept;
  void settle() noexcept;

  detail::atomic<std::uint64_t> state_;
  detail::atomic<std::uint64_t> promised_{0};  // permits given to goroutines that were woken and have not come yet
};

}  // namespace thrum
