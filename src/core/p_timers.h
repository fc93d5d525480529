// A P's timers: a heap with its lock (S27).
//
// Everything is armed on the P whose owner arms it, and usually goes off there; but an idle or stealing M takes what is due
// from any P, because the owner may be busy with a long computation.
//
// Deletion is lazy. A timer that is stopped, or set to an earlier time, leaves its entry behind, dead: it is dropped when
// it surfaces, or by a sweep. So stopping costs no search, and what is armed and stopped a million times takes little more room
// than what is armed. A timer that is set to a later time keeps its entry: when that surfaces it is put back, which makes a
// time limit that is always pushed forward nearly free.
//
// A sweep of a large heap is incremental, because it happens under the lock for which every goroutine on this P that sleeps or
// sets a time limit waits. It begins when an eighth of the entries are dead, and each stop then looks at sweep_step entries, from
// the last to the first. The pass is over when a sixteenth of the entries more have died, so less than a quarter of a heap that
// is not emptied from the top meanwhile is ever dead. A heap of at most sweep_whole_max entries is swept at once.
//
// next_when is never later than the first live entry, and never_ns exactly while nothing is pending: the scheduler sleeps, and
// decides about deadlock, by it. It is earlier only while many dead entries come before the first live one. Then an M wakes too
// early, drops some thousand of them, and sleeps again.
//
// Passive: it returns what is due, it runs and wakes nothing.
#pragma once

#include "core/timer_heap.h"
#include "core/timer_record.h"
#include "os/lock.h"

#include <cstdint>

namespace thrum::rt {

// Whether a timer that was added is the first to go off of its heap. Then somebody may have to be told: timekeeper.h.
enum class added_as : bool { later, first };

class alignas(cache_line_bytes) p_timers {
 public:
  static constexpr std::uint32_t sweep_step = 16;        // half of a microsecond, mostly misses of the cache at once
  static constexpr std::uint32_t sweep_whole_max = 512;  // at most some microseconds

  // --- the owner of the P ---

  // Room for so many additions, whatever others take out; false when no memory can be had.
  [[nodiscard]] bool reserve(std::uint32_t entries) noexcept {
    if (heap_.has_room(entries)) return true;
    os::lock_guard const guard(lock_);
    return heap_.make_room(entries);
  }

  // All three need room.
  added_as add(G& sleeper, std::int64_t when_ns) noexcept;
  // Under r.lock, or before anybody else knows r; r is in no heap.
  added_as add(timer_record& r) noexcept;
  // Under r.lock: sets r to go off at when_ns, wherever its entry is now.
  added_as arm(timer_record& r, std::int64_t when_ns, std::uint32_t epoch) noexcept;

  // --- anybody ---

  // seq_cst: half of the protocol of timekeeper.h.
  [[nodiscard]] std::int64_t next_when() const noexcept { return next_when_.load(seq_cst); }
  [[nodiscard]] bool any() const noexcept { return next_when_.load(relaxed) != never_ns; }  // a hint

  // Under r.lock: r's entry in this heap, if it is still there, is dead from now on.
  void forget(timer_record& r) noexcept;

  // Takes at most `limit` entries that are due, in the order of their times, and answers how many. A record among them is
  // in no heap now, and the reference of its entry is the caller's. Releases the lock in between where many are dead.
  [[nodiscard]] std::uint32_t take_due(std::int64_t now_ns, timer_entry* out, std::uint32_t limit) noexcept;

  // After the end of a run: the record of the next entry, with the entry's reference, until all are gone; then nullptr.
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
  std::uint32_t unswept_ = 0;  // the places below it are to be looked at in this pass; 0: there is none
  // written under lock_, read by anybody
  atomic<std::int64_t> next_when_{never_ns};
  timer_heap heap_;  // under lock_, but for timer_heap::has_room
};

}  // namespace thrum::rt
