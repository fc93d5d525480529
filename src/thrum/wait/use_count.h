// How a caller becomes a user of a descriptor and stops being one: the changes of poll_desc::use. wait/use_word.h
// describes the word, and wait/poll_use.h the protocol. Every call on a descriptor makes two such changes, so what is
// usual is inline.
#pragma once

#include "core/current.h"
#include "core/poll_desc.h"
#include "core/sched.h"
#include "wait/use_word.h"

#include <cstdint>

namespace thrum::rt {

[[nodiscard]] inline std::uint32_t epoch_alive() noexcept {
  return Sched::live_epoch.load(relaxed);  // relaxed: a run's own threads have seen it since their start
}

// Returns the run in whose name the caller uses a descriptor. A goroutine that its run has left behind does not come
// back from here.
[[gnu::cold]] void sleep_as_left_behind_by_run(M& m) noexcept;
[[nodiscard]] inline std::uint32_t callers_epoch() noexcept {
  std::uint32_t const live = epoch_alive();
  M* const m = current_m();
  if (m != nullptr && m->current != nullptr && !m->is_foreign && m->sched.epoch != live) [[unlikely]]
    sleep_as_left_behind_by_run(*m);
  return live;
}

[[nodiscard]] inline use_share callers_share() noexcept {
  M const* const m = current_m();
  return m == nullptr || m->is_foreign ? use_share::outside : use_share::of_run;
}

// The first user in a run forgets the users of earlier runs. But a foreign thread may have read which run is alive
// before the present run began, and it must not forget the users of a run that it does not know of. acquire pairs with
// enter_use: a thread that saw the stamp of a run also sees that the run is alive.
[[nodiscard]] inline bool is_newer(use_word seen, std::uint32_t epoch) noexcept {
  return use_words::epoch_of(seen) != epoch && Sched::live_epoch.load(acquire) != epoch;
}

// Sets the bits `flags` and counts one more user, if the descriptor is open and none of the bits is set.
enum class entry_result : std::uint8_t { done, is_closed, is_taken, is_of_another_run };
[[nodiscard]] inline entry_result enter_use(poll_desc& d, use_share whose, std::uint32_t epoch,
                                            use_word flags) noexcept {
  use_word seen = d.use.load(acquire);
  use_word next = 0;
  do {
    if (is_newer(seen, epoch)) [[unlikely]]
      return entry_result::is_of_another_run;
    next = use_words::of_this_run(seen, epoch);
    if ((next & use_words::closed) != 0) return entry_result::is_closed;
    if ((next & flags) != 0) return entry_result::is_taken;
    next = use_words::with_one_more(next, whose) | flags;
    // acquire pairs with leave_unless_changed: what the user before did is done. release: see is_newer
  } while (!d.use.compare_exchange_weak(seen, next, acq_rel, acquire));
  return entry_result::done;
}

// The last user of a closed descriptor has two things to do when it leaves (wait/poll_close.cpp). close_as_last changes
// the word and gives the descriptor's number back. Returns false if the word has changed, as compare_exchange_weak
// does. forget_record comes after that, when the thread's list has no use of this descriptor (poll_use::unlist).
[[nodiscard]] bool close_as_last(poll_desc& d, use_word& seen, use_word next) noexcept;
void forget_record(poll_desc& d) noexcept;

// Changes the word from `seen` to `next`, which has one user less. Returns false if the word has changed.
[[nodiscard]] inline bool leave_unless_changed(poll_desc& d, use_word& seen, use_word next) noexcept {
  if (use_words::has_to_close(seen, next)) [[unlikely]]
    return close_as_last(d, seen, next);
  // release: what this user did with the descriptor is done. acquire, for the last user: what all users did is done
  return d.use.compare_exchange_weak(seen, next, acq_rel, relaxed);
}

// One user less. The last user of a closed descriptor closes it for good.
inline void leave_use(poll_desc& d, use_share whose, std::uint32_t epoch) noexcept {
  use_word seen = d.use.load(relaxed);
  use_word next = 0;
  do {
    // its run is over, and a later run has started a new count
    if (whose == use_share::of_run && use_words::epoch_of(seen) != epoch) return;
    next = use_words::left_by(seen, whose);
  } while (!leave_unless_changed(d, seen, next));
  if (use_words::has_to_close(seen, next)) forget_record(d);
}

}  // namespace thrum::rt
