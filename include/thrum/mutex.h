// mutex: TimedLockable, for goroutines. Waiting parks the goroutine, not its thread.
//
//   thrum::mutex m;
//   { std::lock_guard guard(m); ++shared; }
//   if (std::unique_lock guard(m, 10ms); guard) ++shared;
//
// Fair after 1 ms: a goroutine that waited that long is handed the mutex directly, before any newcomer. An uncontended
// lock and unlock are one atomic operation each. It may be destroyed as soon as its last unlock let the destroyer go on.
// unlock() never switches. Not recursive; unlocking an unlocked mutex ends the program.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/atomic.h>
#include <thrum/detail/deadline.h>
#include <thrum/detail/holder.h>

#include <chrono>
#include <cstdint>

namespace thrum {

namespace rt {
struct M;
class wait_bucket;
struct lock_holders;
}  // namespace rt

class mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(mutex const&) = delete;
  mutex& operator=(mutex const&) = delete;

  void lock() {
    std::uint32_t const before = set_locked();
    if ((before & (locked | starving)) != 0) return lock_slow(before);
    holder_.is_this_goroutine();
  }

  // False: the time was over first.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> const& d) {
    return try_lock() || try_lock_until_ns(detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> const& when) {
    return try_lock() || detail::attempt_until(when, [this](std::int64_t ns) { return try_lock_until_ns(ns); });
  }

  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t seen = state_.load(detail::relaxed);
    if ((seen & (promised | starving)) != 0) return try_lock_slow();
    // acquire pairs with the release of whoever unlocked
    if ((seen & locked) != 0 || !state_.compare_exchange(seen, seen | locked, detail::acquire, detail::relaxed))
      return false;
    holder_.is_this_goroutine();
    return true;
  }

  void unlock() noexcept {
    // release pairs with the next owner's acquire; after this the mutex may be gone, but for those who wait in it
    std::uint32_t const before = state_.fetch_sub(locked, detail::release);
    if (before != locked) unlock_slow(before);
  }

 private:
  friend struct rt::lock_holders;

  static constexpr std::uint32_t locked = 1;
  static constexpr std::uint32_t waiters = 2;  // somebody stands in the wait table; changed under its bucket's lock
  static constexpr std::uint32_t woken = 4;    // one of them was woken and has not yet tried: no need to wake another
  // Somebody waited too long: newcomers queue, unlock hands over. `locked` then says nothing to a newcomer, who may have
  // set it himself.
  static constexpr std::uint32_t starving = 8;
  static constexpr std::uint32_t promised = 16;  // locked for one that was handed it and has not come yet
  // With a flag set, above it: the run in which it was. Flags of a run that is over mean nothing, for whoever waited then
  // will never come.
  static constexpr unsigned epoch_shift = 16;

  // Answers what was there; with neither `locked` nor `starving` in it the mutex is ours.
  std::uint32_t set_locked() noexcept {
#if defined(__x86_64__)
    // x86 has no fetch_or that answers a whole word. The guess that nobody is there saves the load before the CAS.
    std::uint32_t seen = 0;
    if (state_.compare_exchange(seen, locked, detail::acquire, detail::relaxed)) return 0;
    if ((seen & locked) != 0) return seen;
#endif
    return state_.fetch_or(locked, detail::acquire);  // acquire pairs with the release of whoever unlocked
  }

  void lock_slow(std::uint32_t before);
  [[nodiscard]] bool try_lock_until_ns(std::int64_t deadline_ns);
  [[nodiscard]] bool wait_to_own(std::uint32_t before, char const* what, std::int64_t deadline_ns);
  [[nodiscard]] bool take_or_mark(std::uint32_t mark, std::uint32_t done_with, std::uint32_t epoch) noexcept;
  void leave_queue(rt::wait_bucket& bucket, std::uint32_t epoch) noexcept;
  void unlock_slow(std::uint32_t before) noexcept;
  [[nodiscard]] bool try_lock_slow() noexcept;
  void accept(std::uint32_t epoch) noexcept;
  [[nodiscard]] bool take_as_woken(std::uint32_t epoch) noexcept;
  void hand_over(rt::M& m, rt::wait_bucket& bucket) noexcept;
  void wake_first(rt::M& m, rt::wait_bucket& bucket) noexcept;
  [[nodiscard]] void const* key() const noexcept;
  [[nodiscard]] static std::uint32_t flags_of(std::uint32_t seen, std::uint32_t epoch) noexcept;
  [[nodiscard]] static std::uint32_t stamped(std::uint32_t flags, std::uint32_t epoch) noexcept;

  detail::atomic<std::uint32_t> state_{0};
  detail::holder holder_;
};

}  // namespace thrum
