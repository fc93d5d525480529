#include "sched/idle_ps.h"

#include "base/check.h"

namespace thrum::rt {

void put_idle_p(Sched& s, P& p) noexcept {
  s.lock.assert_held();
  p.transition(p_status::running, p_status::idle);
  p.m = nullptr;
  p.pace.forget_batch();
  p.idle_link = s.idle_p_list;
  s.idle_p_list = &p;
  s.idle_procs.fetch_add(1, seq_cst);  // wake.h, the table of queues, step 1 on the right
}

P* take_idle_p(Sched& s) noexcept {
  s.lock.assert_held();
  P* const p = s.idle_p_list;
  if (p == nullptr) return nullptr;
  s.idle_p_list = p->idle_link;
  p->idle_link = nullptr;
  s.idle_procs.fetch_sub(1, seq_cst);
  p->transition(p_status::idle, p_status::running);
  s.sysmon.end_deep_sleep();
  return p;
}

bool work_anywhere(Sched& s) noexcept {
  if (s.global_size.load(seq_cst) != 0) return true;
  for (auto const& p : s.procs) {
    if (!p->queue.looks_empty()) return true;
  }
  return false;
}

void acquire_p(M& m, P& p) noexcept {
  THRUM_DCHECK(m.p == nullptr && p.m == nullptr);
  m.p = &p;
  p.m = &m;
  m.next_p = nullptr;
}

}  // namespace thrum::rt
