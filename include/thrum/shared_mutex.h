// shared_mutex: SharedTimedLockable, for goroutines: one writer, or any number of readers. Waiting parks the goroutine.
//
//   thrum::shared_mutex m;
//   { std::shared_lock reading(m); use(table); }
//   { std::unique_lock writing(m); table = next(); }
//
// Writers are preferred, as in Go: one that waits keeps new readers out, and gets in when those who are inside have left.
// When a writer leaves, all readers that wait go first, then the next writer, in order of coming. So neither side starves;
// but a reader that locks again while it holds the lock may wait for a writer that waits for it.
//
// Uncontended, each operation is one atomic operation. unlock, unlock_shared and the try forms never switch. It may be
// destroyed as soon as its last unlock let the destroyer go on. Unlocking what is not locked so ends the program.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/atomic.h>
#include <thrum/detail/deadline.h>
#include <thrum/detail/holder.h>

#include <chrono>
#include <cstdint>

namespace thrum {

namespace rt {
class g_list;
class wait_bucket;
struct lock_holders;
}  // namespace rt

class shared_mutex {
 public:
  constexpr shared_mutex() noexcept = default;
  shared_mutex(shared_mutex const&) = delete;
  shared_mutex& operator=(shared_mutex const&) = delete;

  void lock() {
    std::uint64_t seen = 0;
    // acquire pairs with the release of whoever left last
    if (!state_.compare_exchange(seen, held, detail::acquire, detail::relaxed)) return lock_slow();
    holder_.is_this_goroutine();
  }

  [[nodiscard]] bool try_lock() noexcept {
    std::uint64_t seen = 0;
    if (!state_.compare_exchange(seen, held, detail::acquire, detail::relaxed)) return try_lock_slow();  // as lock()
    holder_.is_this_goroutine();
    return true;
  }

  // False: the time was over first.
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

  void unlock() noexcept {
    std::uint64_t seen = held;
    // release pairs with the next one's acquire; after this the shared_mutex may be gone
    if (!state_.compare_exchange(seen, 0, detail::release, detail::relaxed)) unlock_slow();
  }

  void lock_shared() {
    std::uint64_t const before = state_.fetch_add(reader, detail::acquire);  // pairs with the last writer's release
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

  void unlock_shared() noexcept {
    // release pairs with the next writer's acquire; after this the shared_mutex may be gone, but for a writer that waits
    std::uint64_t const before = state_.fetch_sub(reader, detail::release);
    if (before - reader >= readers) unlock_shared_slow(before);  // any flag, or no reader
  }

 private:
  friend struct rt::lock_holders;

  static constexpr std::uint64_t reader = 1;
  // Those who read, and for a moment those who came to read and see that they must wait.
  static constexpr std::uint64_t readers = 0xffff'ffff;
  static constexpr std::uint64_t held = readers + 1;  // by a writer
  // Somebody stands in the wait table; changed under its bucket's lock. Meant for the run whose number stands above.
  static constexpr std::uint64_t writers_wait = held << 1U;
  static constexpr std::uint64_t readers_wait = held << 2U;
  static constexpr std::uint64_t flags = writers_wait | readers_wait;

  void lock_slow();
  void lock_shared_slow(std::uint64_t before);
  void unlock_slow() noexcept;
  void unlock_shared_slow(std::uint64_t before) noexcept;
  [[nodiscard]] bool try_lock_slow() noexcept;
  [[nodiscard]] bool try_lock_shared_slow() noexcept;
  [[nodiscard]] bool try_lock_shared_until_ns(std::int64_t deadline_ns);

  [[nodiscard]] bool take_if_free() noexcept;
  [[nodiscard]] bool wait_to_write(char const* what, std::int64_t deadline_ns);
  [[nodiscard]] bool wait_to_read(std::uint64_t before, char const* what, std::int64_t deadline_ns);
  [[nodiscard]] bool writer_leaves_soon() const noexcept;
  void uncount_readers(std::uint64_t count) noexcept;
  void let_writer_in(std::uint32_t epoch) noexcept;
  [[nodiscard]] bool give_to_writer(rt::wait_bucket& bucket, rt::g_list& woken, std::uint32_t epoch) noexcept;
  [[nodiscard]] bool let_readers_in(rt::wait_bucket& bucket, rt::g_list& woken, std::uint32_t epoch) noexcept;
  void set_free(std::uint32_t epoch) noexcept;
  template <class Next>
  void change(std::uint32_t epoch, Next next) noexcept;
  void reader_gave_up(rt::wait_bucket& bucket, std::uint32_t epoch) noexcept;
  void writer_gave_up(rt::wait_bucket& bucket, rt::g_list& woken, std::uint32_t epoch) noexcept;
  void settle() noexcept;
  [[nodiscard]] void const* writers_key() const noexcept;
  [[nodiscard]] void const* readers_key() const noexcept;

  detail::atomic<std::uint64_t> state_{0};
  detail::atomic<std::uint64_t> promised_{0};  // of state_, to goroutines that were woken and have not come yet
  detail::holder holder_;                      // the writer
};

}  // namespace thrum
