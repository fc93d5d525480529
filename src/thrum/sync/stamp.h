// Words of objects that outlive the run in which goroutines waited on them (T12).
//
// A global semaphore is used by one run after another. A flag that says "a goroutine waits" means nothing once the run
// of that goroutine is over, because the goroutine will never come. So a word with such a flag carries the number of
// its run (Sched::epoch) in the upper 16 bits, and a reader drops flags that carry another number. The bits below are
// the object's own.
//
// The rule for the number, which every primitive takes from here (run_stamp):
//  1. Outside the runtime the caller reads the word first, with acquire, and then which run is alive. A goroutine that
//     sets a flag knows its run and writes with release. So a caller that has seen the flag finds that run alive, or
//     over, but never "not yet begun". In the other order, a foreign thread that was held up between the two reads
//     could take the flags of a run that has begun meanwhile for those of a run that is over, and forget its waiters.
//  2. What the caller does about it is a compare-and-swap of the word that it has seen. If that fails, it reads both
//     again.
//  3. Inside the runtime the number is that of the caller's M. The run cannot end meanwhile: prepare_to_wait does not
//     return to a goroutine whose run is over, enter_to_wake enters the run that it is asked for, and the end of a run
//     waits for the threads that are inside the runtime (sched/end_all_ms.cpp).
//
// What was given to a goroutine that had not yet run to take it when its run ended must come back too. A waker that
// hands something over writes it into a second word, `promised`, and the woken goroutine takes it out there before it
// goes on. The first caller that finds it there when that run is over releases it, in the name of the goroutine that
// never came.
#pragma once

#include "base/atomic.h"
#include "core/sched.h"
#include "os/chaos.h"

#include <cstdint>

namespace thrum::rt {

using word = std::uint64_t;

template <class Word>
inline constexpr unsigned stamp_shift_of = sizeof(Word) * 8 - 16;
template <class Word>
inline constexpr Word stamp_mask_of = static_cast<Word>(~Word{0} << stamp_shift_of<Word>);

inline constexpr unsigned stamp_shift = stamp_shift_of<word>;
inline constexpr word stamp_mask = stamp_mask_of<word>;

// Called after a load with acquire of the word for which the result is used.
[[nodiscard]] inline std::uint32_t live_epoch() noexcept {
  os::chaos_point("stamp.looked");
  return Sched::live_epoch.load(relaxed);  // relaxed: the acquire orders it
}

// The same after a read-modify-write without acquire. On x86_64 such an operation orders everything by itself.
[[nodiscard]] inline std::uint32_t live_epoch_after_release() noexcept {
#if defined(__x86_64__)
  signal_fence();  // for the compiler
#else
  store_load_fence();
#endif
  return live_epoch();
}

// Returns the word without its stamp, and without `flags` if they belong to another run.
template <class Word>
[[nodiscard]] constexpr Word unstamped(Word seen, Word flags, std::uint32_t epoch) noexcept {
  Word const plain = seen & ~stamp_mask_of<Word>;
  return seen >> stamp_shift_of<Word> == epoch ? plain : plain & ~flags;
}

template <class Word>
[[nodiscard]] constexpr Word stamped(Word plain, Word flags, std::uint32_t epoch) noexcept {
  return (plain & flags) != 0 ? plain | static_cast<Word>(epoch) << stamp_shift_of<Word> : plain;
}

// One read of such a word, and the attempt to change what was read. It is meant to be kept in registers: no member's
// address is taken. If no flag is set, which is the usual case, the number of the run is not asked for.
template <class Word>
class run_stamp {
 public:
  // For a caller outside the runtime, which sets no flags.
  [[gnu::always_inline]] run_stamp(atomic<Word>& state, Word flags) noexcept : state_(state), flags_(flags) {
    look_again();
  }
  // For a caller inside the runtime, in the run `epoch`.
  [[gnu::always_inline]] run_stamp(atomic<Word>& state, Word flags, std::uint32_t epoch) noexcept
      : state_(state), flags_(flags), epoch_(epoch), is_inside_(true) {
    look_again();
  }

  // The word without the stamp, and without the flags of a run that is over.
  [[nodiscard]] Word now() const noexcept { return now_; }
  [[nodiscard]] bool has(Word flag) const noexcept { return (now_ & flag) != 0; }
  [[nodiscard]] Word raw() const noexcept { return seen_; }
  // The run to which the flags in now() belong.
  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }

  [[gnu::always_inline]] void look_again() noexcept { note(state_.load(acquire)); }

  // Changes the word to `next`, with the stamp if it has a flag. Returns false if the word has changed, or if the
  // attempt failed spuriously; now() is the result of a new read then. acquire and release: for rule 1, and for what
  // the primitives hand over.
  [[nodiscard, gnu::always_inline]] bool change_to(Word next) noexcept {
    Word seen = seen_;
    if (state_.compare_exchange_weak(seen, stamped(next, flags_, epoch_), acq_rel, acquire)) return true;
    note(seen);
    return false;
  }

 private:
  [[gnu::always_inline]] void note(Word seen) noexcept {
    seen_ = seen;
    now_ = seen & ~stamp_mask_of<Word>;
    if ((seen & flags_) == 0) return;
    if (!is_inside_) epoch_ = live_epoch();
    now_ = unstamped(seen, flags_, epoch_);
  }

  atomic<Word>& state_;
  Word const flags_;
  Word seen_ = 0;
  Word now_ = 0;
  std::uint32_t epoch_ = 0;
  bool const is_inside_ = false;
};

// Called under the bucket's lock. `amount` was given to goroutines that will be woken. What an earlier run promised was
// released before a goroutine of this run waited.
inline void promise(atomic<word>& promised, word amount, std::uint32_t epoch) noexcept {
  word seen = promised.load(relaxed);  // relaxed: a sum. A goroutine that is woken learns of it by being woken
  word next = 0;
  do {
    next = (seen >> stamp_shift == epoch ? seen : word{epoch} << stamp_shift) + amount;
  } while (!promised.compare_exchange_weak(seen, next, release, relaxed));  // release: rule 1
}

// The woken goroutine takes what it was promised.
inline void accept(atomic<word>& promised, word amount) noexcept { promised.fetch_sub(amount, relaxed); }

// Whether take_broken_promise would return more than 0.
[[nodiscard]] inline bool has_broken_promise(atomic<word>& promised) noexcept {
  run_stamp<word> const seen(promised, ~stamp_mask);
  return (seen.raw() & ~stamp_mask) != 0 && seen.now() == 0;
}

// Returns what a run that is over has promised and no goroutine has come to take. The caller must release it. 0:
// nothing.
[[nodiscard]] inline word take_broken_promise(atomic<word>& promised) noexcept {
  for (run_stamp<word> seen(promised, ~stamp_mask);;) {
    word const left = seen.raw() & ~stamp_mask;
    if (left == 0 || seen.now() != 0) return 0;
    if (seen.change_to(0)) return left;
  }
}

}  // namespace thrum::rt
