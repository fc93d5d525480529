// What threads tell each other about the watch over the timers, the poller and the wake-ups that were put off.
//
// The tables in sched/timekeeper.h (timers), sched/poll.h (descriptors) and sched/wake.h (put-off wake-ups) say why
// nothing stays unwatched beside an idle P. In each table one thread writes a word of this file and then looks at what
// the other thread writes before it reads that word. So both accesses are seq_cst, unless the caller holds sched.lock,
// under which the word is written, or a comment at the operation says why relaxed is enough.
#pragma once

#include "base/atomic.h"
#include "core/timer_heap.h"

#include <cstdint>

namespace thrum::rt {

// The timekeeper's sleep, and sysmon's. The words stand beside those that every `go` and ready reads.
class watch_state {
 public:
  // --- the timekeeper. Under sched.lock, except where a comment says otherwise ---

  // Any thread: whether the timekeeper watches a timer for `when_ns`, which was set before, or looks at all timers.
  [[nodiscard]] bool covers(std::int64_t when_ns) const noexcept { return until_ns_.load(seq_cst) <= when_ns; }
  // The same under the lock.
  [[nodiscard]] bool covers_locked(std::int64_t when_ns) const noexcept { return until_ns_.load(relaxed) <= when_ns; }
  // The timekeeper sleeps until then. The caller looks at the timers once more afterwards.
  void watch_until(std::int64_t until_ns) noexcept { until_ns_.store(until_ns, seq_cst); }
  // The timekeeper is woken to look again. A thread that adds a timer meanwhile can rely on it.
  void look_again() noexcept { until_ns_.store(0, seq_cst); }
  // There is no timekeeper.
  void end_watch() noexcept { until_ns_.store(never_ns, seq_cst); }

  // Whether the timekeeper sleeps in the poller.
  [[nodiscard]] bool polls() const noexcept { return polls_; }
  void sleep_in_poller(bool polls) noexcept { polls_ = polls; }

  // --- sysmon's watch over put-off wake-ups: see sys/put_off_watch.h ---

  // On sysmon's thread: it sleeps for long, so an M that puts off a wake-up has to nudge it. A store-load fence and a
  // look at what waits come next.
  void ask_for_nudge() noexcept { put_off_is_unwatched_.store(true, seq_cst); }
  // On sysmon's thread: it watches, or any M that takes a P into use wakes it. relaxed: an M that sees the old value
  // only nudges it in vain.
  void need_no_nudge() noexcept {
    if (put_off_is_unwatched_.load(relaxed)) put_off_is_unwatched_.store(false, relaxed);
  }
  // Any thread, after it has put a wake-up off.
  [[nodiscard]] bool put_off_is_unwatched() const noexcept { return put_off_is_unwatched_.load(seq_cst); }
  // Whether the caller has to nudge sysmon. Of several threads that ask, one has to.
  [[nodiscard]] bool take_nudge() noexcept { return put_off_is_unwatched_.exchange(false, seq_cst); }

 private:
  atomic<std::int64_t> until_ns_{never_ns};  // written under sched.lock
  atomic<bool> put_off_is_unwatched_{false};
  bool polls_ = false;
};

// The network poller: see sched/poll.h.
class poll_state {
 public:
  // --- goroutines that wait for a descriptor or are about to ---

  // Counts one in its lifetime.
  class waiter {
   public:
    explicit waiter(poll_state& poll) noexcept : poll_(poll) { poll_.waiters_.fetch_add(1, seq_cst); }
    ~waiter() { poll_.waiters_.fetch_sub(1, seq_cst); }
    waiter(waiter const&) = delete;
    waiter& operator=(waiter const&) = delete;

   private:
    poll_state& poll_;
  };
  [[nodiscard]] bool is_waited_for() const noexcept { return waiters_.load(seq_cst) != 0; }
  [[nodiscard]] std::int32_t waiters() const noexcept { return waiters_.load(relaxed); }  // a hint

  // Whether a poll may bring something that no other thread is about to get. One poll too many or too few does no harm.
  // acquire pairs with the goroutine that counts itself: the poller was opened before.
  [[nodiscard]] bool is_worth_a_look() const noexcept {
    return waiters_.load(acquire) != 0 && sleepers_.load(relaxed) == 0;
  }

  // --- Ms that sleep in the poller. At most one of them rests ---

  void enter() noexcept { sleepers_.fetch_add(1, seq_cst); }
  // Returns how many others are there.
  std::int32_t leave() noexcept { return sleepers_.fetch_sub(1, seq_cst) - 1; }
  [[nodiscard]] std::int32_t sleepers() const noexcept { return sleepers_.load(seq_cst); }

  // --- polls, by any thread. relaxed: sysmon only checks whether their number changes ---

  void note_poll() noexcept { polls_.fetch_add(1U, relaxed); }
  [[nodiscard]] std::uint32_t polls() const noexcept { return polls_.load(relaxed); }

 private:
  atomic<std::int32_t> waiters_{0};
  atomic<std::int32_t> sleepers_{0};
  atomic<std::uint32_t> polls_{0};
};

}  // namespace thrum::rt
