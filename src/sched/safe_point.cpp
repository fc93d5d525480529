#include "sched/safe_point.h"

#include "core/claims.h"
#include "sched/exit_stage.h"
#include "sched/threads.h"
#include "sched/wake.h"
#include "sched/world.h"

namespace thrum::rt {
namespace {

// Takes the request of p, if it is there. The owner and, for an idle P, the caller of for_each_proc compete for it.
bool take_request(P& p) noexcept {
  // acquire pairs with for_each_proc's release: the function is set.
  return (p.attention.fetch_and(~attend::safe_point, acquire) & attend::safe_point) != 0;
}

}  // namespace

void for_each_proc(M& m, proc_function f, void* argument) noexcept {
  Sched& s = m.sched;
  acquire_world(m);
  s.safe_point_function = f;
  s.safe_point_argument = argument;
  s.safe_points_left.store(s.procs.size(), relaxed);  // relaxed: published by the fetch_or below
  s.safe_points_done.clear();
  for (auto const& p : s.procs) p->attention.fetch_or(attend::safe_point, release);
  attend_to(*m.p);
  {
    // An idle P cannot come to a safe point by itself, and cannot stop being idle while this thread holds the lock. A P
    // whose M has no thread yet comes there late, if at all.
    os::lock_guard const guard(s.lock);
    for (P* p = s.idle_p_list; p != nullptr; p = p->idle_link) {
      attend_to(*p);
    }
    for (M const* other = s.ms.newest(); other != nullptr; other = other->all_link) {
      if (other->status == m_status::starting) attend_to(*other->next_p);
    }
  }
  // Nor can a P whose M is in a system call. A P whose M is just entering or leaving one is left to sysmon.
  take_from_calls(s.procs, [&](P& p) { hand_off(s, p); });
  if (!s.safe_points_done.is_woken()) ring_sysmon(s);  // loops without calls are interrupted
  wait_for_other_ps(m, s.safe_points_done);
  // Ps that are not in use
  for (P* const p : s.procs.all().subspan(static_cast<std::size_t>(s.procs.size()))) f(*p, argument);
  s.safe_point_lock.release();
}

void attend_to(P& p) noexcept {
  if (!take_request(p)) return;
  Sched& s = p.sched;
  s.safe_point_function(p, s.safe_point_argument);
  // release pairs with the acquire of the thread that comes last, and with the note: the caller sees what f did on this
  // P.
  if (s.safe_points_left.fetch_sub(1, acq_rel) == 1) s.safe_points_done.wake();
}

}  // namespace thrum::rt
