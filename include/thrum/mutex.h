// mutex: Lockable, for goroutines. Waiting parks the goroutine, not its thread.
//
//   thrum::mutex m;
//   { std::lock_guard guard(m); ++shared; }
//
// Fair after 1 ms: a goroutine that waited that long is handed the mutex directly, before any newcomer. An uncontended
// lock and unlock are one atomic operation each. It may be destroyed as soon as its last unlock let the destroyer go on.
// unlock() never switches. Not recursive; unlocking an unlocked mutex ends the program.
#pragma once

#include <thrum/detail/atomic.h>

#include <cstdint>

namespace thrum {

class mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(mutex const&) = delete;
  mutex& operator=(mutex const&) = delete;

  void lock() {
    std::uint32_t seen = 0;
    // Without a look beforehand: a load would only delay the read-modify-write. acquire pairs with the last unlock.
    if (!state_.compare_exchange(seen, locked, detail::acquire, detail::relaxed)) lock_slow();
  }

  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t seen = state_.load(detail::relaxed);
    // acquire pairs with the release of whoever unlocked
    return (seen & (locked | starving)) == 0 &&
           state_.compare_exchange(seen, seen | locked, detail::acquire, detail::relaxed);
  }

  void unlock() noexcept {
    std::uint32_t seen = locked;
    // release pairs with the next owner's acquire; after this the mutex may be gone
    if (!state_.compare_exchange(seen, 0, detail::release, detail::relaxed)) unlock_slow(seen);
  }

 private:
  static constexpr std::uint32_t locked = 1;
  static constexpr std::uint32_t waiters = 2;  // somebody stands in the wait table; changed under its bucket's lock
  static constexpr std::uint32_t woken = 4;    // one of them was woken and has not yet tried: no need to wake another
  static constexpr std::uint32_t starving =
      8;  // somebody waited too long: newcomers queue, unlock hands over. Implies locked
  static constexpr unsigned epoch_shift =
      16;  // with a flag set, above it: the run in which it was; flags of a run that
           // is over mean nothing, for whoever waited then will never come

  void lock_slow();
  void unlock_slow(std::uint32_t seen) noexcept;
  [[nodiscard]] bool spin_for_it(int procs) noexcept;
  [[nodiscard]] static std::uint32_t flags_of(std::uint32_t seen, std::uint32_t epoch) noexcept;
  [[nodiscard]] static std::uint32_t stamped(std::uint32_t flags, std::uint32_t epoch) noexcept;

  detail::atomic<std::uint32_t> state_{0};
};

}  // namespace thrum
