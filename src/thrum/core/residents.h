// The residents of an M: the goroutines that are at home there. They continue on the M on which they parked, and on no
// other. sched/home.h says why, and proves that no wake-up of a resident is lost.
//
// A runnable resident is in one of two lists. `queue_` belongs to the M's own thread, which needs no lock for it. The
// inbox is under sched.lock, and the other threads put residents there. The M moves them to `queue_` when that is
// empty, and now and then at other times.
//
// This class keeps the two lists and the numbers. It takes sched.lock for the inbox where a comment says so, and it
// wakes no thread.
#pragma once

#include "base/atomic.h"
#include "core/entry.h"
#include "core/push_key.h"
#include "os/lock.h"

#include <cstdint>

namespace thrum::rt {

class residents {
 public:
  // --- any thread ---

  // Whether goroutines are at home here, parked or not. Only the M's own thread changes that, so the answer lasts on
  // that thread, and on others under sched.lock while the M rests. Anywhere else it is a hint.
  [[nodiscard]] bool any() const noexcept { return count_.load(relaxed) != 0; }
  // Whether one of them is runnable and waits for its turn. It is a hint, except under sched.lock. There the M sees
  // whatever the other threads have put into the inbox.
  [[nodiscard]] bool any_runnable() const noexcept { return runnable_.load(relaxed) != 0; }

  // --- the M's own thread ---

  // The M's current goroutine becomes a resident, or is one no more.
  void add() noexcept { count_.store(count_.load(relaxed) + 1, relaxed); }
  void remove() noexcept { count_.store(count_.load(relaxed) - 1, relaxed); }
  // g, a resident, is runnable.
  void queue(push_key, G& g) noexcept {
    queue_.push_back(g);
    runnable_.fetch_add(1U, relaxed);  // relaxed: this thread looks before its M rests
  }
  // Takes the resident whose turn it is. Every other turn belongs to the other goroutines of the P, if `others_wait`.
  // Takes sched.lock if it has to look at the inbox. nullptr: it is not the turn of a resident.
  [[nodiscard]] G* take(os::lock& sched_lock, bool others_wait) noexcept;

  // --- any other thread, and the M's own thread without a P: under sched.lock ---

  void post(push_key, G& g) noexcept {
    inbox_.push_back(g);
    runnable_.fetch_add(1U, relaxed);  // relaxed: a hint outside of the lock
  }
  // The resident that has been in the inbox for the longest time. nullptr: the inbox is empty.
  [[nodiscard]] G const* first_posted() const noexcept { return inbox_.front(); }

 private:
  // The inbox is also looked at now and then while the queue is not empty, because a resident that yields in a loop is
  // always in the queue.
  [[nodiscard]] bool is_to_look_at_inbox() noexcept;

  // written by the M's own thread
  atomic<std::uint32_t> count_{0};     // the goroutines that are at home here
  bool had_last_turn_ = false;         // the goroutine that ran last came from `queue_`
  std::uint8_t turns_past_inbox_ = 0;  // turns in which the M did not look at the inbox, although it is not empty
  g_list queue_;

  // written by any thread
  alignas(cache_line_bytes) atomic<std::uint32_t> runnable_{0};  // how many goroutines are in the two lists
  g_list inbox_;                                                 // under sched.lock
};

}  // namespace thrum::rt
