// How many goroutines may be paused in the middle of user code, and how many threads there may be for that (T05).
//
// A goroutine that is paused keeps its thread, so the limit of threads bounds their number. sys/preempt.h says what the
// end of a slice does while many are paused. Under sched.lock, except where a comment says otherwise.
#pragma once

#include "base/atomic.h"
#include "core/m_pool.h"
#include "core/proc_table.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace thrum::rt {

// While many goroutines are paused, the global queue serves the paused ones first. This says which plain entries the
// next turn may be for instead: none, only goroutines that have started, or all. A plain entry is a goroutine that any
// M may run (core/global_run_queue.h).
enum class plain_turn : std::uint8_t { none, started_only, all };

class pauses {
 public:
  pauses(m_pool const& ms, proc_table const& procs, int threads_max) noexcept
      : ms_(ms), procs_(procs), threads_max_(threads_max) {}

  // --- the limit of threads: see set_max_threads ---

  // Any thread. relaxed: exact under the lock; elsewhere a change may take effect a little later.
  [[nodiscard]] int threads_max() const noexcept { return threads_max_.load(relaxed); }
  // Returns the limit so far.
  int set_threads_max(int limit) noexcept { return threads_max_.exchange(limit, relaxed); }
  // Whether there may be `more` threads than there are.
  [[nodiscard]] bool may_make_threads(std::int32_t more) const noexcept { return ms_.total() + more <= threads_max(); }

  // A thread has published work and started no M because of the limit, although a P is idle. An M that is about to rest
  // has to look once more, also if the limit is not reached any more by then.
  void note_p_left_idle() noexcept { leaves_p_idle_ = true; }
  // Whether this is so. The caller looks.
  [[nodiscard]] bool take_p_left_idle() noexcept { return std::exchange(leaves_p_idle_, false); }

  // --- how many are paused. Any thread; a hint without the lock ---

  // The number of goroutines that should at most be paused, each on a thread of its own. From half of that on, many are
  // paused.
  [[nodiscard]] std::int32_t max() const noexcept {
    return std::min(std::max(64, 8 * procs_.size()), std::max(2, threads_max() - procs_.size() - 4));
  }
  // Whether `more` goroutines can be paused within the limit of threads. Every P needs a thread, M0 is one, and one is
  // kept for a system call.
  [[nodiscard]] bool may_be(std::int32_t more) const noexcept {
    return ms_.paused() + more + procs_.size() + 2 <= threads_max();
  }
  [[nodiscard]] bool are_many() const noexcept { return ms_.paused() >= max() / 2; }
  [[nodiscard]] bool are_too_many() const noexcept { return ms_.paused() >= max(); }

  // --- the spare thread: see sched/resting_ms.h ---

  // A thread without a P is to be made, to be idle. The caller notifies the thread maker.
  void order_spare() noexcept { wants_spare_ = true; }
  [[nodiscard]] bool spare_is_ordered() const noexcept { return wants_spare_; }
  // On the thread maker: whether one was ordered. It makes it.
  [[nodiscard]] bool take_spare_order() noexcept { return std::exchange(wants_spare_, false); }

  // --- turns of goroutines that are not paused, while many are ---

  // The next turn in the global queue is one of theirs. While too many are paused, the goroutine that is started may
  // also compute for long, and others must still get their turn. So a new one is started only after a number of such
  // turns that grows with the excess.
  void give_plain_turn() noexcept {
    std::int32_t const too_many = ms_.paused() - max();
    bool const may_start_one = may_be(2);
    bool const starts_one = too_many < 0 || (may_start_one && ++plain_turns_missed_ >= 2 + too_many / 4);
    if (starts_one) plain_turns_missed_ = 0;
    turn_of_plain_ = starts_one ? plain_turn::all : plain_turn::started_only;
  }
  // Whose turn it is; the turn is used up.
  [[nodiscard]] plain_turn take_plain_turn() noexcept { return std::exchange(turn_of_plain_, plain_turn::none); }

 private:
  m_pool const& ms_;
  proc_table const& procs_;
  atomic<std::int32_t> threads_max_;     // written under sched.lock
  std::int32_t plain_turns_missed_ = 0;  // turns that unstarted goroutines have missed since too many are paused
  plain_turn turn_of_plain_ = plain_turn::none;
  bool wants_spare_ = false;
  bool leaves_p_idle_ = false;
};

}  // namespace thrum::rt
