// A P's timers: a heap with its lock (S27).
//
// A timer is armed on the P whose owner arms it, and usually fires there. But an idle or stealing M takes due timers
// from any P, because the owner may be busy with a long computation.
//
// Deletion is lazy. A timer that is stopped, or set to an earlier time, leaves a dead entry behind, which is dropped
// when it reaches the top, or by a sweep. So stopping costs no search, and a timer that is armed and stopped a million
// times takes little more room than one that is armed. A timer that is set to a later time keeps its entry. When the
// entry reaches the top it is put back, which makes a time limit that is always pushed forward nearly free.
//
// A sweep of a large heap is incremental, because it happens under the lock for which every goroutine on this P waits
// that sleeps or sets a time limit. It begins when an eighth of the entries are dead, and each stop then looks at
// timer_sweep_step entries, from the last to the first. The pass is over by the time when another sixteenth of the
// entries have died. So less than a quarter of the heap is ever dead, unless the heap is emptied from the top
// meanwhile. A heap of at most timer_sweep_whole_max entries is swept at once.
//
// next_when is never later than the first live entry, and is never_ns exactly while nothing is pending. The scheduler
// sleeps, and decides about deadlock, by it. It is earlier than the first live entry only while many dead entries come
// before that. Then an M wakes too early, drops some thousand of them, and goes back to sleep.
//
// Passive: it returns what is due; it runs and wakes nothing.
#pragma once

#include "core/timer_heap.h"
#include "core/timer_record.h"
#include "os/lock.h"

#include <cstdint>

namespace thrum::rt {

// Whether a timer that was added is the first of its heap to fire. Then another thread may have to be told:
// timekeeper.h.
enum class added_as : bool { later, first };

class alignas(cache_line_bytes) p_timers {
 public:
  // --- the owner of the P ---

  // Makes room for so many additions, whatever other threads take out. Returns false if there is no memory.
  [[nodiscard]] bool reserve(std::uint32_t entries) noexcept {
    if (heap_.has_room(entries)) return true;
    os::lock_guard const guard(lock_);
    return heap_.make_room(entries);
  }

  // All three functions need room.
  added_as add(G& sleeper, std::int64_t when_ns) noexcept;
  // Called under r.lock, or before any other thread knows r. r is in no heap.
  added_as add(timer_record& r) noexcept;
  // Called under r.lock. Sets r to fire at when_ns, wherever its entry is.
  added_as arm(timer_record& r, std::int64_t when_ns, std::uint32_t epoch) noexcept;

  // --- any thread ---

  // seq_cst: half of the protocol of timekeeper.h.
  [[nodiscard]] std::int64_t next_when() const noexcept { return next_when_.load(seq_cst); }
  [[nodiscard]] bool any() const noexcept { return next_when_.load(relaxed) != never_ns; }  // a hint

  // Whether a timer is due. next_when may name a time at which no timer is due any more. Looks at all entries under the
  // heap's lock, and then at some records under their own, so it is for a thread that has nothing better to do.
  [[nodiscard]] bool has_due(std::int64_t now_ns, std::uint32_t epoch) noexcept;

  // Called under r.lock. If r's entry is in this heap, it becomes dead.
  void forget(timer_record& r) noexcept;

  // Takes at most `limit` due entries, in the order of their times, and returns how many. A record among them is in no
  // heap afterwards, and the reference of its entry goes to the caller. Releases the lock in between if many entries
  // are dead.
  [[nodiscard]] std::uint32_t take_due(std::int64_t now_ns, timer_entry* out, std::uint32_t limit) noexcept;

  // The same for a heap that is to be emptied: whether the entries are due or not, and in no order. Looks at each entry
  // once, while take_due has to keep the heap in order.
  [[nodiscard]] std::uint32_t take_any_of(timer_entry* out, std::uint32_t limit) noexcept;

  // After the end of a run: returns the record of the next entry, with the entry's reference. nullptr: all entries are
  // gone.
  [[nodiscard]] timer_record* take_any() noexcept;

  // For reports and tests.
  struct sizes {
    std::uint32_t entries;
    std::uint32_t dead;
  };
  [[nodiscard]] sizes count() noexcept {
    os::lock_guard const guard(lock_);
    return {heap_.size(), dead_};
  }

 private:
  [[nodiscard]] added_as push(timer_entry e) noexcept;
  [[nodiscard]] bool is_dead(timer_entry const& e) const noexcept;
  void drop_dead(timer_entry const& e) noexcept;
  bool keeps(timer_record const& r, std::int64_t when_ns) noexcept;
  void sweep_if_worth_it() noexcept;
  void sweep_whole() noexcept;
  void sweep_some() noexcept;
  [[nodiscard]] bool has_dead_first() const noexcept { return dead_ != 0 && is_dead(heap_.first()); }
  void drop_dead_first(std::uint32_t limit) noexcept;
  void tell_next() noexcept;

  os::lock lock_{lock_rank::timer_heap};
  // under lock_
  std::uint32_t dead_ = 0;
  std::uint32_t unswept_ = 0;  // this pass has to look at the places below it; 0: there is no pass
  // written under lock_, read by any thread
  atomic<std::int64_t> next_when_{never_ns};
  timer_heap heap_;  // under lock_, except timer_heap::has_room
};

}  // namespace thrum::rt
