// The end of a run, as a state: what main has done, which of run() and exit() ends the run, and which threads have not
// reached their end. sched/end_all_ms.cpp and boot/run_services.cpp have the order of events:
//
//   1. main has ended            run() wakes
//   2. scheduling stops          begin(): no M gets a P after this
//   3. goroutines are left       note_goroutines_are_left_behind(): a goroutine that is in user code does not come back
//                                from the runtime
//   4. the run is over           claim_for_run(): a goroutine that calls exit() after this was left behind
//
// exit() on a goroutine does only steps 2 and 4, in the reverse order: claim_for_exit(), and then begin().
//
// The class takes no lock. The comment of each part says which lock the caller holds.
#pragma once

#include "base/atomic.h"
#include "os/note.h"

#include <cstdint>
#include <utility>

namespace thrum::rt {

struct M;

class run_end {
 public:
  // --- main ---

  // Main has returned or thrown. Called by the main goroutine before it ends. If it is not called, main has left by
  // goexit.
  void main_completes() noexcept { main_completed_ = true; }
  [[nodiscard]] bool main_has_completed() const noexcept { return main_completed_; }
  // Main has completed and has left its stack. Wakes the thread that called run().
  void wake_run() noexcept { main_ended_.wake(); }
  [[nodiscard]] bool run_is_woken() const noexcept { return main_ended_.is_woken(); }
  void wait_for_main() noexcept { main_ended_.sleep(); }

  // Under sched.lock: main has left by goexit, and the other goroutines continue.
  void note_goexit_of_main() noexcept { main_exited_ = true; }
  [[nodiscard]] bool main_has_left_by_goexit() const noexcept { return main_exited_; }

  // --- the stop of scheduling ---

  // Under sched.lock: after this no M gets a P. Returns false if scheduling was stopped before.
  [[nodiscard]] bool begin() noexcept {
    if (std::exchange(has_begun_, true)) return false;
    is_seen_.store(true, seq_cst);  // pairs with is_seen_in_order
    return true;
  }
  // Under sched.lock.
  [[nodiscard]] bool has_begun() const noexcept { return has_begun_; }
  // The same for threads that cannot take the lock, also in a signal handler. relaxed: a thread that sees it late meets
  // it at its next scheduling point, or is signalled a second time.
  [[nodiscard]] bool is_seen() const noexcept { return is_seen_.load(relaxed); }
  // The same for a thread that has just ceased to count as paused: it sees the end here, or the thread that ends the
  // run sees that it is not paused (m_pool).
  [[nodiscard]] bool is_seen_in_order() const noexcept { return is_seen_.load(seq_cst); }

  // --- which of the two ends the run: the return of run(), or exit() on a goroutine. The first of them decides ---

  // Returns false if the run has ended already. The goroutine that called exit() runs on m.
  [[nodiscard]] bool claim_for_exit(M& m) noexcept {
    if (!claim(claimant::exit)) return false;
    exits_on_.store(&m, release);  // pairs with exiting_m
    return true;
  }
  // Returns false if a goroutine has called exit() meanwhile.
  [[nodiscard]] bool claim_for_run() noexcept { return claim(claimant::run); }
  [[nodiscard]] bool is_by_exit() const noexcept {
    return claimant_.load(acquire) == claimant::exit;  // pairs with claim
  }

  // The M whose goroutine has called exit(). All others are stopped (sched/exit_stage.h). nullptr: there is none.
  [[nodiscard]] M* exiting_m() const noexcept { return exits_on_.load(acquire); }  // pairs with claim_for_exit
  // relaxed: it is true only for the M that wrote it, or after a barrier
  [[nodiscard]] bool exits_on(M const& m) const noexcept { return exits_on_.load(relaxed) == &m; }

  // --- goroutines that the run leaves behind ---

  // Called before live_epoch ceases to name this run. Goroutines that the run leaves behind see it, and do not come
  // back from the runtime (sync/wait.h).
  void note_goroutines_are_left_behind() noexcept { goroutines_are_left_behind_.store(true, seq_cst); }
  [[nodiscard]] bool goroutines_are_left_behind() const noexcept {
    return goroutines_are_left_behind_.load(relaxed);  // ordered by a barrier
  }

  // --- threads of Ms, M0's not counted ---

  void thread_is_made() noexcept { threads_.fetch_add(1, relaxed); }  // ordered by the thread's creation
  void thread_was_not_made() noexcept { threads_.fetch_sub(1, relaxed); }
  // The last access of a thread to the run. release pairs with threads_left.
  void thread_ends() noexcept { threads_.fetch_sub(1, acq_rel); }
  [[nodiscard]] std::int32_t threads_left() const noexcept { return threads_.load(acquire); }

 private:
  enum class claimant : std::uint8_t { none, run, exit };

  // acq_rel: the thread that loses sees what the winner did before
  [[nodiscard]] bool claim(claimant as) noexcept {
    claimant before = claimant::none;
    return claimant_.compare_exchange(before, as, acq_rel, relaxed);
  }

  atomic<std::int32_t> threads_{0};
  atomic<bool> is_seen_{false};
  atomic<bool> goroutines_are_left_behind_{false};
  atomic<claimant> claimant_{claimant::none};
  atomic<M*> exits_on_{nullptr};
  os::note main_ended_;
  bool main_completed_ = false;  // written by the main goroutine
  // under sched.lock
  bool main_exited_ = false;
  bool has_begun_ = false;
};

}  // namespace thrum::rt
