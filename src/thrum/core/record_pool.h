// The pools behind the Ps' caches: dead Gs, free sudogs and goroutine ids (S06, S26, S30). It also knows every G that
// was made. sched/records.h has the caches.
//
// The pool has a lock of its own, of rank free_lists. Every operation takes it, except where a comment says otherwise.
// No operation calls other code while it holds the lock, except for the functions that visit Gs; these must not take a
// lock of a lower rank. The operations run on any thread, with its mark set.
#pragma once

#include "base/atomic.h"
#include "core/blocks.h"
#include "core/g.h"
#include "core/slab.h"
#include "core/sudog.h"
#include "os/lock.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace thrum::rt {

class record_pool {
 public:
  // --- dead Gs ---

  // Fills `into` with dead Gs from its front on: recycled ones, else new ones. `count` says how many there were. If it
  // is 0 and room_needed is not, room for so many Gs has to be reserved first. If both are 0, there is no memory.
  struct taken_gs {
    std::uint32_t count;
    std::uint32_t room_needed;
  };
  [[nodiscard]] taken_gs take_gs(std::span<G*> into) noexcept;
  // Makes room for `gs` Gs in all, so that put_gs never fails. Returns false if there is no memory.
  [[nodiscard]] bool reserve(std::uint32_t gs) noexcept;
  void put_gs(std::span<G* const> dead) noexcept;

  // --- sudogs ---

  // Fills `cache` up to `count` with free sudogs, and takes one out of it. If none is free, makes one. Returns nullptr
  // if there is no memory.
  [[nodiscard]] sudog* take_sudog(sudog_list& cache, std::uint32_t count) noexcept;
  // Takes sudogs out of `cache` until `count` are left.
  void put_sudogs(sudog_list& cache, std::uint32_t count) noexcept;

  // --- goroutine ids; the main goroutine has 1 ---

  // Takes `count` consecutive ids, and returns the first.
  [[nodiscard]] std::uint64_t take_ids(std::uint64_t count) noexcept {
    os::lock_guard const guard(lock_);
    std::uint64_t const first = next_id_;
    next_id_ += count;
    return first;
  }

  // --- all Gs that were made ---

  template <class F>
  void for_each_g(F visit) noexcept {
    os::lock_guard const guard(lock_);
    gs_.for_each(visit);
  }
  // The same without the lock. For the end of a run, when no other thread makes Gs, and for a report that may be wrong.
  template <class F>
  void for_each_g_unlocked(F visit) noexcept {
    gs_.for_each(visit);
  }

  // A walk over all Gs that exist when it begins, in portions. Other threads need the lock to make goroutines.
  using walk = slab<G>::walk;
  static constexpr std::size_t visits_at_once = 1024;  // of a portion
  [[nodiscard]] walk begin_walk() noexcept {
    os::lock_guard const guard(lock_);
    return gs_.begin_walk();
  }
  // Visits the next Gs, `count` at most, until visit(G&) returns false. Returns false if there are no more.
  template <class F>
  [[nodiscard]] bool walk_on(walk& where, std::size_t count, F visit) noexcept {
    os::lock_guard const guard(lock_);
    for (; count > 0; --count) {
      G* const g = gs_.step(where);
      if (g == nullptr) return false;
      if (!visit(*g)) break;
    }
    return true;
  }

  // At the end of a run: the memory of the Gs stays mapped for good, because something outside refers to one of them.
  // No lock.
  void abandon_gs() noexcept { gs_.abandon(); }

  // --- numbers, for statistics and tests. They are hints, and take no lock ---

  [[nodiscard]] std::uint32_t gs_made() const noexcept { return hint_of(gs_made_); }
  [[nodiscard]] std::uint32_t gs_dead() const noexcept { return dead_gs_.size_hint(); }
  [[nodiscard]] std::uint32_t sudogs_free() const noexcept { return free_sudogs_.size_hint(); }

 private:
  friend struct debugger_rows;

  os::lock lock_{lock_rank::free_lists};
  slab<G> gs_;
  slab<sudog> sudogs_;
  word_stack dead_gs_;
  std::uint32_t gs_made_ = 0;
  std::uint32_t gs_reserved_ = 0;  // for so many Gs there is room in dead_gs_ and in the global queue
  sudog_list free_sudogs_;
  std::uint64_t next_id_ = 1;
};

}  // namespace thrum::rt
