#include "sys/blocking.h"

#include "base/check.h"
#include "core/current.h"
#include "sched/park.h"
#include "sched/queues.h"
#include "sched/safe_point.h"
#include "sched/suspend.h"
#include "sched/threads.h"
#include "sched/wake.h"
#include <thrum/blocking.h>

namespace thrum::rt {
namespace {

// With the mark set and a P; without one afterwards, and the mark clear.
void go_away(M& m, call_length length) noexcept {
  P& p = *m.p;
  if (p.attention.load(relaxed) != 0) attend_to(p);
  m.current->transition(g_status::running, g_status::syscall);
  m.p = nullptr;
  count(p.counters.syscalls);  // sysmon tells one call from the next by it
  if (length == call_length::unknown) {
    m.away_from = &p;
    bool const is_wanted = !p.queue.is_empty_to_owner() || m.sched.global_size.load(relaxed) != 0;
    p.status.store(p_status::syscall, release);  // pairs with P::take_from_syscall
    // Others wait for this P: should the call be a long one, sysmon is to see it soon.
    if (is_wanted && m.sched.sysmon_is_slow.load(relaxed)) ring_sysmon(m.sched);
  } else {
    m.away_from = nullptr;
    count(p.counters.handed_off);
    hand_off(m.sched, p);
  }
  m.attention.store(m_attend::away, relaxed);
  m.in_runtime.store(false, relaxed);
}

// The first way back.
bool take_old_p(M& m) noexcept {
  P* const p = m.away_from;
  if (p == nullptr || !p->take_from_syscall()) return false;
  m.p = p;
  p->m = &m;  // it may have been another M's mark
  if ((p->attention.load(relaxed) & attend::stopping) == 0) return true;
  retire_p(m);
  return false;
}

// The second. Under sched.lock.
bool take_idle_p_locked(M& m) noexcept {
  P* const p = take_idle_p(m.sched);
  if (p == nullptr) return false;
  acquire_p(m, *p);
  count(p->counters.returns_to_idle);
  return true;
}

void is_back(M& m, g_status from) noexcept {
  m.attention.store(0, relaxed);
  m.current->transition(from, g_status::running);
}

// The third, for a goroutine that may go on elsewhere.
void commit_return(M& m, G& left, void*) noexcept {
  Sched& s = m.sched;
  left.transition(g_status::syscall, g_status::runnable);
  {
    os::lock_guard const guard(s.lock);
    put_global_locked(s, entry::plain(&left));
  }
  wake_if_idle(s);
}

// The run is over. The goroutine goes no further, and its thread comes to its end.
[[noreturn]] void leave_it_there(M& m) noexcept {
  static_cast<void>(suspend_without_p(
      m, [](M&, G&, void*) noexcept {}, nullptr));
  fatal("internal error: a goroutine that its run has left behind went on");
}

M& come_back(M& m) noexcept {
  if (take_old_p(m)) {
    is_back(m, g_status::syscall);
    return m;
  }
  Sched& s = m.sched;
  s.lock.acquire();
  bool const over = s.stopping;
  bool const has_p = !over && take_idle_p_locked(m);
  s.lock.release();
  if (over) leave_it_there(m);
  if (has_p) {
    is_back(m, g_status::syscall);
    return m;
  }
  m.attention.store(0, relaxed);
  M& here = suspend_without_p(m, commit_return, nullptr);
  count(here.p->counters.returns_queued);
  return here;
}

void come_back_on_this_thread(M& m) noexcept {
  if (take_old_p(m)) {
    is_back(m, g_status::syscall);
    return;
  }
  Sched& s = m.sched;
  G& g = *m.current;
  s.lock.acquire();
  if (s.stopping) {
    s.lock.release();
    leave_it_there(m);
  }
  if (take_idle_p_locked(m)) {
    s.lock.release();
    is_back(m, g_status::syscall);
    return;
  }
  g.locked_to = &m;
  g.transition(g_status::syscall, g_status::runnable);
  put_global_locked(s, entry::locked(&g));
  s.lock.release();
  m.park.sleep();
  m.park.clear();
  if (m.must_end) leave_it_there(m);
  acquire_p(m, *m.next_p);
  g.locked_to = nullptr;
  is_back(m, g_status::runnable);
  count(m.p->counters.returns_queued);
}

}  // namespace

void begin_blocking(call_length length) noexcept {
  M* const m = current_m();
  if (m == nullptr || m->current == nullptr) return;
  if (m->current->blocking_depth++ != 0) return;
  enter(*m);
  go_away(*m, length);
}

void end_blocking() noexcept {
  M* const m = current_m();
  if (m == nullptr || m->current == nullptr) return;
  if (--m->current->blocking_depth != 0) return;
  // Not away: inside the call it used the runtime, and has parked there.
  if ((m->attention.load(relaxed) & m_attend::away) == 0) return;
  m->in_runtime.store(true, relaxed);
  leave(come_back(*m));
}

void entered_with_attention(M& m) noexcept {
  if ((m.attention.load(relaxed) & m_attend::away) == 0) return;
  come_back_on_this_thread(m);
  m.attention.store(m_attend::visits, relaxed);
}

void left_with_attention(M& m) noexcept {
  m.attention.store(0, relaxed);
  if (m.current == nullptr || m.current->blocking_depth == 0) return;  // somebody else's visit
  m.in_runtime.store(true, relaxed);
  go_away(m, call_length::unknown);
}

}  // namespace thrum::rt

namespace thrum::detail {

void begin_blocking(blocking_hint hint) noexcept {
  rt::begin_blocking(hint == blocking_hint::long_call ? rt::call_length::known_long : rt::call_length::unknown);
}

void end_blocking() noexcept { rt::end_blocking(); }

}  // namespace thrum::detail
