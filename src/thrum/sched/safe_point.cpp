#include "sched/safe_point.h"

#include "core/claims.h"
#include "sched/exit_stage.h"
#include "sched/requests.h"
#include "sched/threads.h"
#include "sched/world.h"

namespace thrum::rt {
void for_each_proc(M& m, proc_function f, void* argument) noexcept {
  Sched& s = m.sched;
  acquire_world(m);
  s.safe_points.begin(f, argument, s.procs.size());
  for (auto const& p : s.procs) p->attention.fetch_or(attend::safe_point, release);
  run_requested_function(*m.p);
  {
    // An idle P cannot come to a safe point by itself, and cannot stop being idle while this thread holds the lock. A P
    // whose M has no thread yet comes there late, if at all.
    os::lock_guard const guard(s.lock);
    s.idle.for_each_idle(run_requested_function);
    for (M const& other : s.ms.all()) {
      if (other.status == m_status::starting) run_requested_function(*other.next_p);
    }
  }
  // Nor can a P whose M is in a system call. A P whose M is just entering or leaving one is left to sysmon.
  take_from_calls(s.procs, [&](P& p) { hand_off(s, p); });
  if (!s.safe_points.is_over().is_woken()) s.sysmon.notify();  // loops without calls are interrupted
  wait_for_other_ps(m, s.safe_points.is_over());
  // Ps that are not in use
  for (P* const p : s.procs.all().subspan(static_cast<std::size_t>(s.procs.size()))) f(*p, argument);
  s.world.give_back();
}

}  // namespace thrum::rt
