// Finds which goroutine holds the lock that a goroutine waits for.
//
// Waiters of locks stand in the wait table under bytes inside the lock that are no other object's address, because
// every other key is a multiple of four. So the key alone says what the goroutine waits for.
#pragma once

#include <cstdint>

namespace thrum::rt {

enum class lock_wait_kind : std::uintptr_t { none = 0, to_own = 1, to_read = 2, to_write = 3 };

[[nodiscard]] inline void const* key_of(void const* object, lock_wait_kind kind) noexcept {
  return static_cast<char const*>(object) + static_cast<std::uintptr_t>(kind);
}

struct lock_wait {
  lock_wait_kind kind = lock_wait_kind::none;  // none: it does not wait for a lock
  void const* object = nullptr;
  std::uint32_t holder =
      0;  // a stack (thrum/detail/holder.h); 0: free, held by readers, or given to a goroutine that has not run yet

  bool operator==(lock_wait const&) const noexcept = default;
};

struct lock_holders {
  // The number of the goroutine on whose stack the holder is, or 0 if the holder is not known or is no goroutine. If
  // the holder has just taken the lock, the result may be an earlier holder. Called as look().
  [[nodiscard]] static std::uint64_t goroutine(void const* key, std::uint32_t epoch) noexcept;
  // Called under the lock of the bucket in which a goroutine waits under this key, because that goroutine keeps the
  // lock alive.
  [[nodiscard]] static lock_wait look(void const* key, std::uint32_t epoch) noexcept;
};

}  // namespace thrum::rt
