// A stop of the world, as a state: which thread may stop the world, and how many Ps have to stop. sched/world.h has the
// protocol.
//
// One thread at a time has the right to stop the world or to call a function on every P (core/safe_point_round.h). The
// right is a lock, so that a thread which wants it can try without blocking. An M waits for it only at a safe point,
// because the holder may be waiting for that M's P. A thread that is no M, for example one that makes a report, has
// precedence over all Ms: while it waits, no M takes the right. Otherwise goroutines that stop the world again and
// again would keep it from the right for any time, because it sleeps between two tries.
//
// The numbers are under sched.lock. This class takes no lock by itself except the one that is the right.
#pragma once

#include "base/atomic.h"
#include "core/duration_histogram.h"
#include "os/lock.h"
#include "os/note.h"

#include <cstdint>

namespace thrum::rt {

class world_stop {
 public:
  // --- the right to stop the world. Any thread ---

  // Returns false if another thread has the right.
  [[nodiscard]] bool try_to_take() noexcept { return lock_.try_acquire(); }
  void give_back() noexcept { lock_.release(); }

  // On a thread that is no M, before and after its tries to take the right. relaxed: an M that does not see it at once
  // takes the right once more at most.
  void outsider_waits() noexcept { waiting_outsiders_.fetch_add(1, relaxed); }
  void outsider_waits_no_more() noexcept { waiting_outsiders_.fetch_sub(1, relaxed); }
  // Whether an M must leave the right to a thread that is no M.
  [[nodiscard]] bool is_for_outsiders() const noexcept {
    return is_forbidden() || waiting_outsiders_.load(relaxed) != 0;
  }

  // The run is about to end. After this no goroutine asks for the right. relaxed: a thread that sees it late tries to
  // acquire the right, and the thread that ends the run waits until it has the right itself.
  void forbid() noexcept { is_forbidden_.store(true, relaxed); }
  [[nodiscard]] bool is_forbidden() const noexcept { return is_forbidden_.load(relaxed); }

  // --- a stop. Under sched.lock ---

  // The thread that has the right asks `procs` Ps to stop.
  void begin(int procs) noexcept {
    ++holders_;
    all_have_stopped_.clear();
    procs_left_ = procs;
  }
  // A P has stopped. Wakes the thread that stops the world if it was the last one.
  void one_has_stopped() noexcept {
    if (--procs_left_ == 0) all_have_stopped_.wake();
  }
  // The world runs again, and the thread that had stopped it has started what it had to start.
  void has_restarted() noexcept { --holders_; }

  // Whether a thread has stopped the world, or is stopping or restarting it.
  [[nodiscard]] bool is_under_way() const noexcept { return holders_ != 0; }
  [[nodiscard]] std::int32_t procs_left() const noexcept { return procs_left_; }

  // The note on which the thread that stops the world sleeps until all Ps have stopped. Not under the lock.
  [[nodiscard]] os::note& all_have_stopped() noexcept { return all_have_stopped_; }

  // --- dumps that a thread which is no M makes, and after which the program goes on ---

  // While it lives, a goroutine that has called exit() does not stop the others, because it could not go on if its own
  // P had to stop at that time. seq_cst: the thread that makes the dump then looks whether a goroutine has called
  // exit(). Either it sees that, or the goroutine sees the dump.
  class [[nodiscard]] dump {
   public:
    explicit dump(world_stop& its) noexcept : its_(its) {
      its_.dumps_.fetch_add(1, seq_cst);
      store_load_fence();
    }
    ~dump() { its_.dumps_.fetch_sub(1, release); }  // pairs with is_dumped
    dump(dump const&) = delete;
    dump& operator=(dump const&) = delete;

   private:
    world_stop& its_;
  };
  // The fence comes after the caller has said that it exits.
  [[nodiscard]] bool is_dumped() const noexcept {
    store_load_fence();
    return dumps_.load(acquire) != 0;
  }

  // --- reports. Any thread ---

  // For a report with which the program ends: loops are interrupted by signal even if preemption by signal is off
  // (boot/report.h).
  void interrupt_loops() noexcept { loops_are_interrupted_.store(true, release); }
  // acquire pairs with interrupt_loops: the handler of the signal is in force
  [[nodiscard]] bool loops_are_interrupted() const noexcept { return loops_are_interrupted_.load(acquire); }

  // Statistics, written by the thread that has the right.
  duration_histogram stopping_took;  // from the request until all Ps had stopped
  duration_histogram stopped_for;    // from the request until they were started

 private:
  os::lock lock_{lock_rank::safe_point};
  atomic<bool> is_forbidden_{false};
  atomic<bool> loops_are_interrupted_{false};
  // each live view has such a thread, so there may be as many as threads in the process
  atomic<std::int32_t> waiting_outsiders_{0};
  atomic<std::int32_t> dumps_{0};
  // under sched.lock
  std::int32_t procs_left_ = 0;  // Ps that have not stopped
  // The number of threads that have stopped the world and not finished restarting it. It is 2 only for a moment,
  // because a thread gives the right back before it has finished.
  std::int32_t holders_ = 0;

  os::note all_have_stopped_;
};

}  // namespace thrum::rt
