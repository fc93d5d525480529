// shared_mutex: a SharedTimedLockable for goroutines, with one writer or any number of readers. Waiting parks the
// goroutine.
//
//   thrum::shared_mutex m;
//   { std::shared_lock reading(m); use(table); }
//   { std::unique_lock writing(m); table = next(); }
//
// Writers are preferred, as in Go: a waiting writer keeps new readers out, and gets the lock when the present readers
// have left. When a writer unlocks, all waiting readers go first, then the next writer in the order in which the
// writers came. So neither side starves. But a reader that locks a second time while it holds the lock may deadlock
// with a writer that waits for it.
//
// If there is no contention, each operation is one atomic operation. unlock, unlock_shared and the try forms never
// switch to another goroutine. A goroutine may destroy the shared_mutex as soon as it has got and released the last
// lock, even if an earlier unlock has not returned yet. Unlocking a lock that is not held in that mode ends the
// program.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/atomic.h>
#include <thrum/detail/deadline.h>
#include <thrum/detail/holder.h>
#include <thrum/detail/user_frame.h>

#include <chrono>
#include <cstdint>

namespace thrum {

namespace rt {
class g_list;
class wait_bucket;
struct lock_holders;
struct debugger_rows;
}  // namespace rt

class shared_mutex {
 public:
  constexpr shared_mutex() noexcept = default;
  shared_mutex(shared_mutex const&) = delete;
  shared_mutex& operator=(shared_mutex const&) = delete;

  void lock() {
    std::uint64_t seen = 0;
    // acquire pairs with the release of the last unlock or unlock_shared
    if (!state_.compare_exchange(seen, held, detail::acquire, detail::relaxed)) return lock_slow();
    holder_.is_this_goroutine();
  }

  [[nodiscard]] bool try_lock() noexcept {
    std::uint64_t seen = 0;
    // acquire as in lock()
    if (!state_.compare_exchange(seen, held, detail::acquire, detail::relaxed)) return try_lock_slow();
    holder_.is_this_goroutine();
    return true;
  }

  // These return false if the time was over first.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> const& d) {
    return try_lock() || wait_to_write("shared_mutex::try_lock_for", detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> const& when) {
    return try_lock() || detail::attempt_until(when, [this](std::int64_t ns) {
             return wait_to_write("shared_mutex::try_lock_until", ns);
           });
  }

  [[gnu::always_inline]] void unlock() noexcept {
    std::uint64_t seen = held;
    // release pairs with the acquire of the next owner. After this the shared_mutex may be destroyed.
    if (state_.compare_exchange(seen, 0, detail::release, detail::relaxed)) return;
    unlock_slow();
    detail::stay_in_users_function();
  }

  void lock_shared() {
    // pairs with the release of the last writer's unlock
    std::uint64_t const before = state_.fetch_add(reader, detail::acquire);
    if (before > readers) lock_shared_slow(before);
  }

  [[nodiscard]] bool try_lock_shared() noexcept {
    std::uint64_t seen = state_.load(detail::relaxed);
    while (seen <= readers) {
      if (state_.compare_exchange_weak(seen, seen + reader, detail::acquire, detail::relaxed)) return true;
    }
    return try_lock_shared_slow();
  }

  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(std::chrono::duration<Rep, Period> const& d) {
    return try_lock_shared() || try_lock_shared_until_ns(detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(std::chrono::time_point<Clock, Duration> const& when) {
    return try_lock_shared() ||
           detail::attempt_until(when, [this](std::int64_t ns) { return try_lock_shared_until_ns(ns); });
  }

  [[gnu::always_inline]] void unlock_shared() noexcept {
    // release pairs with the acquire of the next writer. After this the shared_mutex may be destroyed, unless a writer
    // waits.
    std::uint64_t const before = state_.fetch_sub(reader, detail::release);
    if (before - reader < readers) return;
    unlock_shared_slow(before);  // a flag is set, or there was no reader
    detail::stay_in_users_function();
  }

 private:
  friend struct rt::lock_holders;
  friend struct rt::debugger_rows;

  static constexpr std::uint64_t reader = 1;
  // The number of readers. It also counts, for a moment, readers that have just come and find that they must wait.
  static constexpr std::uint64_t readers = 0xffff'ffff;
  static constexpr std::uint64_t held = readers + 1;  // a writer holds it
  // Goroutines stand in the wait table. Changed under the bucket's lock. The bits above hold the number of the run for
  // which the flags are valid.
  static constexpr std::uint64_t writers_wait = held << 1U;
  static constexpr std::uint64_t readers_wait = held << 2U;
  static constexpr std::uint64_t flags = writers_wait | readers_wait;

  void lock_slow();
  void lock_shared_slow(std::uint64_t before);
  void unlock_slow() noexcept;
  void unlock_locked(rt::wait_bucket& bucket, rt::g_list& woken, std::uint32_t epoch) noexcept;
  void unlock_shared_slow(std::uint64_t before) noexcept;
  [[nodiscard]] bool try_lock_slow() noexcept;
  [[nodiscard]] bool try_lock_shared_slow() noexcept;
  [[nodiscard]] bool try_lock_shared_until_ns(std::int64_t deadline_ns);

  [[nodiscard]] bool take_if_free() noexcept;
  [[nodiscard]] bool wait_to_write(char const* what, std::int64_t deadline_ns);
  [[nodiscard]] bool wait_to_read(std::uint64_t before, char const* what, std::int64_t deadline_ns);
  [[nodiscard]] bool enter_if_open() noexcept;
  void uncount_readers(std::uint64_t count) noexcept;
  void let_writer_in(std::uint32_t epoch, std::uintptr_t site) noexcept;
  void let_writer_in_locked(rt::wait_bucket& bucket, rt::g_list& woken, std::uint32_t epoch) noexcept;
  [[nodiscard]] bool give_to_writer(rt::wait_bucket& bucket, rt::g_list& woken, std::uint32_t epoch) noexcept;
  [[nodiscard]] bool let_readers_in(rt::wait_bucket& bucket, rt::g_list& woken, std::uint32_t epoch) noexcept;
  void set_free(std::uint32_t epoch) noexcept;
  template <class Next>
  void change(std::uint32_t epoch, Next next) noexcept;
  void reader_gave_up(rt::wait_bucket& bucket, std::uint32_t epoch) noexcept;
  void writer_gave_up(rt::wait_bucket& bucket, rt::g_list& woken, std::uint32_t epoch) noexcept;
  void release_broken_promises() noexcept;
  [[nodiscard]] void const* writers_key() const noexcept;
  [[nodiscard]] void const* readers_key() const noexcept;

  detail::atomic<std::uint64_t> state_{0};
  // the part of state_ that was given to woken goroutines that have not run yet
  detail::atomic<std::uint64_t> promised_{0};
  detail::holder holder_;  // the writer
};

}  // namespace thrum
