// The idle Ps, and the number of Ms that search for work (S13).
//
// A thread that publishes work and an M that gives its P up race without a common lock. The table of queues in
// sched/wake.h says why no goroutine is left beside an idle P. This class keeps what both sides of that table look at.
//
// Invariants:
// 1. Under sched.lock the number of idle Ps is the length of the list. Every P in the list has the status `idle` and no
//    M. Only `put` and `take` change the list, so a P that is in it stays idle while a thread holds the lock.
// 2. The number of spinning Ms is that of the Ms whose M::spinning is true, and of one more while a thread that has
//    called try_begin_spin looks for an M. That thread either finds the M (spin_for) or takes the number back.
// 3. An M that begins to spin has a pending watch check, because from then on other threads may rely on it for a timer
//    (sched/timekeeper.h).
// 4. An M that spins has a P, or was promised one. It ends its spinning after it has given its P up, when it has found
//    work, or when it stops for a stopped world. If it has found work, it starts the next M (end_spinning_with_work).
//    An M leaves its search with M::spinning set only at the end of the run.
//
// These operations are seq_cst, because each is a step of the tables in sched/wake.h and sched/timekeeper.h, where one
// of two threads has to see what the other one wrote:
// - put, end_spin and take_back_spin: step 1 of the M that gives a P up, or that will not come;
// - any_idle and none_spins: step 3 of the publisher. Its publication is seq_cst, or a store-load fence follows it;
// - try_begin_spin, begin_spin and take: other publishers rely on the M that they announce, or on the P that is in use
//   from then on, as soon as they see the number.
// The numbers that `count` and `spinning` return are read relaxed: they are exact under sched.lock (count), or serve a
// limit, a heuristic or a report.
#pragma once

#include "base/atomic.h"
#include "core/m.h"
#include "core/p.h"
#include "core/proc_table.h"
#include "core/sysmon_link.h"
#include "os/lock.h"

#include <cstdint>

namespace thrum::rt {

class idle_state {
 public:
  // The lock is sched.lock.
  idle_state(os::lock const& lock, proc_table const& procs, sysmon_link& sysmon) noexcept
      : lock_(lock), procs_(procs), sysmon_(sysmon) {}

  // --- idle Ps. Under sched.lock, except where a comment says otherwise ---

  // p, which is running and which no thread uses, becomes idle.
  void put(P& p) noexcept;
  // The P that became idle last, because its caches are the warmest. It is running from here on, and belongs to the
  // caller. nullptr: no P is idle.
  [[nodiscard]] P* take() noexcept;
  // Before there are other threads: all Ps, which are stopped, become idle. The first of the table is taken first.
  void put_all() noexcept;

  // Calls f(P&) for each idle P. f neither puts a P nor takes one.
  template <class F>
  void for_each_idle(F f) const noexcept {
    for (P* p = list_; p != nullptr; p = p->idle_link) f(*p);
  }

  // Any thread. Whether a P is idle, for a thread that has published something before.
  [[nodiscard]] bool any_idle() const noexcept { return count_.load(seq_cst) != 0; }
  // Any thread. How many Ps are idle, and whether all are.
  [[nodiscard]] std::int32_t count() const noexcept { return count_.load(relaxed); }
  [[nodiscard]] bool all_idle() const noexcept { return count() == procs_.size(); }

  // --- Ms that spin. Any thread ---

  // Whether no M spins, for a thread that has published something before.
  [[nodiscard]] bool none_spins() const noexcept { return spinning_.load(seq_cst) == 0; }
  [[nodiscard]] std::int32_t spinning() const noexcept { return spinning_.load(relaxed); }
  // Whether no P is idle and no M searches, so that work can only wait for a P that runs other goroutines.
  [[nodiscard]] bool all_busy() const noexcept { return count() + spinning() == 0; }

  // Counts an M that is to be started and to search, if no M spins. The caller looks for a P and an M.
  [[nodiscard]] bool try_begin_spin() noexcept {
    std::int32_t none = 0;
    return spinning_.compare_exchange(none, 1, seq_cst, relaxed);
  }
  // m is that M. The caller, which holds sched.lock, gives m a P.
  void spin_for(M& m) noexcept {
    m.spinning = true;
    m.watch_check_pending = true;
  }
  // There is no such M. Under sched.lock: see wake.h.
  void take_back_spin() noexcept {
    lock_.assert_held();
    spinning_.fetch_sub(1, seq_cst);
  }

  // The calling M begins to search.
  void begin_spin(M& m) noexcept {
    spin_for(m);
    spinning_.fetch_add(1, seq_cst);
  }
  // m, which spins, has found work, has given its P up or stops for a stopped world. The calling thread is m's; or it
  // has taken m's P back before m's thread has begun, and holds sched.lock.
  void end_spin(M& m) noexcept {
    m.spinning = false;
    spinning_.fetch_sub(1, seq_cst);
  }

 private:
  atomic<std::int32_t> spinning_{0};
  atomic<std::int32_t> count_{0};  // written under sched.lock
  P* list_ = nullptr;              // linked by P::idle_link; under sched.lock
  os::lock const& lock_;
  proc_table const& procs_;
  sysmon_link& sysmon_;  // it is told that a P is taken into use
};

}  // namespace thrum::rt
