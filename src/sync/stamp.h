// Words of objects that outlive the run in which somebody waited on them (T12).
//
// A global semaphore is used by one run after another. Flags that say "somebody waits" mean nothing once the run of those
// who waited is over, for they will never come. So a word with such a flag carries the number of its run in the upper 16
// bits, and whoever reads it drops flags with another number. The lower 48 bits are the object's own.
//
// What was given to a goroutine that had not yet come to take it when its run ended must come back, too. A waker that
// hands something over writes it into a second word, `promised`; the woken goroutine takes it out there before it goes on,
// and the first that has to wait in the next run takes back what is still written there.
#pragma once

#include "base/atomic.h"
#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

using word = std::uint64_t;

inline constexpr unsigned stamp_shift = 48;
inline constexpr word stamp_mask = ~word{0} << stamp_shift;

inline std::uint32_t live_epoch() noexcept {
  return Sched::live_epoch.load(relaxed);  // a run's own threads have it from the start; others cannot wait
}

// The word without its stamp, and without `flags` if they are of a run that is over.
[[nodiscard]] inline word unstamped(word seen, word flags, std::uint32_t epoch) noexcept {
  return seen >> stamp_shift == epoch ? seen & ~stamp_mask : seen & ~(stamp_mask | flags);
}

[[nodiscard]] inline word stamped(word plain, word flags, std::uint32_t epoch) noexcept {
  return (plain & flags) != 0 ? plain | word{epoch} << stamp_shift : plain;
}

// Under the bucket's lock: `amount` was given to goroutines that will be woken. Whatever an earlier run promised has been
// taken back before anybody of this run waited.
inline void promise(atomic<word>& promised, word amount, std::uint32_t epoch) noexcept {
  word seen = promised.load(relaxed);  // relaxed, here and below: a sum; who is woken is told by being woken
  word next = 0;
  do {
    next = (seen >> stamp_shift == epoch ? seen : word{epoch} << stamp_shift) + amount;
  } while (!promised.compare_exchange_weak(seen, next, relaxed, relaxed));
}

// The woken goroutine is here.
inline void accept(atomic<word>& promised, word amount) noexcept { promised.fetch_sub(amount, relaxed); }

// Whether a run that is over has left a promise behind.
[[nodiscard]] inline bool has_broken_promise(atomic<word> const& promised, std::uint32_t epoch) noexcept {
  word const seen = promised.load(relaxed);
  return seen >> stamp_shift != epoch && (seen & ~stamp_mask) != 0;
}

// How much of it there is; it is ours now. Under the bucket's lock, or outside any run.
[[nodiscard]] inline word take_back(atomic<word>& promised, std::uint32_t epoch) noexcept {
  word seen = promised.load(relaxed);
  while (seen >> stamp_shift != epoch) {
    if (promised.compare_exchange_weak(seen, 0, relaxed, relaxed)) return seen & ~stamp_mask;
  }
  return 0;
}

}  // namespace thrum::rt
