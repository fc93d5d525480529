// shared_mutex: SharedLockable, for goroutines: one writer, or any number of readers. Waiting parks the goroutine.
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

#include <thrum/detail/atomic.h>

#include <cstdint>

namespace thrum {

namespace rt {
struct G;
struct M;
class g_list;
class wait_bucket;
}  // namespace rt

class shared_mutex {
 public:
  constexpr shared_mutex() noexcept = default;
  shared_mutex(shared_mutex const&) = delete;
  shared_mutex& operator=(shared_mutex const&) = delete;

  void lock() {
    std::uint64_t seen = 0;
    // acquire pairs with the release of whoever left last
    if (!state_.compare_exchange(seen, held, detail::acquire, detail::relaxed)) lock_slow();
  }

  [[nodiscard]] bool try_lock() noexcept {
    std::uint64_t seen = 0;
    return state_.compare_exchange(seen, held, detail::acquire, detail::relaxed) || try_lock_slow();  // as lock()
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

  void unlock_shared() noexcept {
    // release pairs with the next writer's acquire; after this the shared_mutex may be gone, but for a writer that waits
    std::uint64_t const before = state_.fetch_sub(reader, detail::release);
    if (before - reader >= readers) unlock_shared_slow(before);  // any flag, or no reader
  }

 private:
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

  rt::M& wait_to_read(rt::M& m, std::uint32_t epoch);
  void uncount_reader() noexcept;
  void let_writer_in(char const* what) noexcept;
  [[nodiscard]] bool take_if_free(std::uint32_t epoch) noexcept;
  [[nodiscard]] rt::g_list hand_over(rt::wait_bucket& bucket, std::uint32_t epoch) noexcept;
  [[nodiscard]] std::uint64_t with_first_writer(std::uint64_t free_state, rt::wait_bucket& bucket) const noexcept;
  [[nodiscard]] rt::G& take_first_writer(rt::wait_bucket& bucket, std::uint32_t epoch) noexcept;
  void settle(std::uint32_t epoch) noexcept;
  [[nodiscard]] void const* writers_key() const noexcept;
  [[nodiscard]] void const* readers_key() const noexcept;

  detail::atomic<std::uint64_t> state_{0};
  detail::atomic<std::uint64_t> promised_{0};  // of state_, to goroutines that were woken and have not come yet
};

}  // namespace thrum
