#include "sys/blocking.h"

#include "base/check.h"
#include "core/current.h"
#include "os/chaos.h"
#include "sched/own_thread.h"
#include "sched/park.h"
#include "sched/queues.h"
#include "sched/safe_point.h"
#include "sched/suspend.h"
#include "sched/threads.h"
#include "sched/wake.h"
#include "sys/preempt.h"
#include "sys/unannounced.h"
#include <thrum/blocking.h>

#include <utility>

namespace thrum::rt {
namespace {

// With the mark set and a P; without one afterwards, and the mark clear.
void go_away(M& m, call_length length) noexcept {
  P& p = *m.p;
  if (p.attention.load(relaxed) != 0) attend_to(p);
  m.current->transition(g_status::running, g_status::syscall);
  m.p = nullptr;
  os::chaos_point();
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
  if (m.is_foreign) {  // release pairs with is_inside: it is done with the run's memory
    m.attention.store(m_attend::away, release);
    m.in_runtime.store(false, release);
  } else {
    m.attention.store(m_attend::away, relaxed);
    m.in_runtime.store(false, relaxed);
  }
}

// The first way back.
bool take_old_p(M& m) noexcept {
  os::chaos_point();
  P* const p = m.away_from;
  if (p == nullptr || !p->take_from_syscall()) return false;
  m.p = p;
  p->m = &m;  // it may have been another M's mark
  std::uint32_t const wanted = p->attention.load(relaxed);
  if ((wanted & (attend::stopping | attend::stop_world)) == 0) return true;
  if ((wanted & attend::stopping) != 0) {
    retire_p(m);
  } else {
    hand_off(m.sched, *std::exchange(m.p, nullptr));
  }
  return false;
}

bool was_announced(M const& m) noexcept { return (m.attention.load(relaxed) & m_attend::unannounced) == 0; }

// The second. Under sched.lock.
bool take_idle_p_locked(M& m) noexcept {
  P* const p = take_idle_p(m.sched);
  if (p == nullptr) return false;
  acquire_p(m, *p);
  if (was_announced(m)) count(p->counters.returns_to_idle);
  return true;
}

void is_back(M& m, g_status from) noexcept {
  m.attention.store(0, relaxed);
  m.current->transition(from, g_status::running);
}

// The third, for a goroutine that may go on elsewhere.
void commit_return(M& m, G& left, void*) noexcept {
  Sched& s = m.sched;
  {
    os::lock_guard const guard(s.lock);
    left.transition(g_status::syscall, g_status::runnable);  // under the lock: there is no P that could be stopped
    put_global_locked(s, entry::plain(&left));
  }
  wake_if_idle(s);
}

// The first two. Under sched.lock afterwards, unless m has a P.
enum class came : std::uint8_t { with_p, without_p, after_the_end };

came come_back_at_once(M& m) noexcept {
  bool has_p = take_old_p(m);
  if (!has_p) {
    m.sched.lock.acquire();
    if (m.sched.stopping) return came::after_the_end;
    has_p = take_idle_p_locked(m);
    if (!has_p) return came::without_p;
    m.sched.lock.release();
  }
  is_back(m, g_status::syscall);
  return came::with_p;
}

void is_back_from_the_queue(M& m) noexcept {
  if (was_announced(m)) count(m.p->counters.returns_queued);
  m.attention.store(0, relaxed);
}

// A thread from outside that came too late; nobody else counts it.
[[noreturn]] void sleep_as_left_behind(M& m) noexcept {
  Sched::threads_asleep_for_good.fetch_add(1, relaxed);
  leave_it_there(m);
}

void come_back_on_this_thread(M& m) noexcept {
  came const how = come_back_at_once(m);
  if (how == came::with_p) return;
  if (how == came::without_p) queue_on_own_thread_locked(m, g_status::syscall);
  m.sched.lock.release();
  if (how == came::after_the_end && m.is_foreign) sleep_as_left_behind(m);
  if (how == came::after_the_end || !sleep_until_its_turn(m)) leave_it_there(m);
  is_back_from_the_queue(m);
}

M& come_back(M& m) noexcept {
  m.current->saved.pc = nullptr;
  if (m.current->is_locked) {
    come_back_on_this_thread(m);
    return m;
  }
  came const how = come_back_at_once(m);
  if (how == came::with_p) return m;
  m.sched.lock.release();
  if (how == came::after_the_end) leave_it_there(m);
  m.attention.store(0, relaxed);
  M& here = suspend_without_p(m, commit_return, nullptr);
  count(here.p->counters.returns_queued);
  return here;
}

}  // namespace

void begin_blocking(call_length length, std::uintptr_t where) noexcept {
  M* const m = current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign) return;  // such a thread is away as it is
  if (m->current->blocking_depth++ != 0) return;
  enter(*m);
  m->call_site = where;
  go_away(*m, length);
}

void end_blocking() noexcept {
  M* const m = current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign) return;
  if (--m->current->blocking_depth != 0) return;
  // Not away: inside the call it used the runtime, and has parked there.
  if ((m->attention.load(relaxed) & m_attend::away) == 0) return;
  m->in_runtime.store(true, relaxed);
  leave(come_back(*m));
}

void entered_with_attention(M& m) noexcept {
  if (m.run_is_over.load(relaxed)) sleep_as_left_behind(m);  // see sys/foreign.h
  std::uint32_t const seen = settle_who_has_the_p(m);
  if ((seen & m_attend::away) == 0) return;
  come_back_on_this_thread(m);
  if ((seen & m_attend::unannounced) != 0) {
    m.sched.ms_without_p.fetch_sub(1, relaxed);
  } else {
    m.attention.store(m_attend::visits, relaxed);
  }
}

void get_p_in_user_code(M& m) noexcept {
  came const how = come_back_at_once(m);
  if (how == came::without_p) {
    begin_pause_locked(m);
    queue_on_own_thread_locked(m, g_status::syscall);
  }
  if (how != came::with_p) m.sched.lock.release();
  if (how == came::after_the_end) {
    stop_for_good_if_possible(m);
    return;
  }
  if (how == came::without_p) {
    if (!sleep_until_its_turn(m)) {
      go_on_without_p(m);
      return;
    }
    is_back_from_the_queue(m);
    end_pause(m);
  }
  m.sched.ms_without_p.fetch_sub(1, relaxed);
}

// The mark is clear, and sysmon may be about to take the P: what is done with it is done after entering anew.
void left_with_attention(M& m) noexcept {
  std::uint32_t const seen = m.attention.load(relaxed);
  if ((seen & m_attend::pause) != 0) pause_if_still_asked(m);
  if ((seen & m_attend::visits) == 0) return;
  m.attention.fetch_and(~m_attend::visits, relaxed);
  if (m.current == nullptr || m.current->blocking_depth == 0) return;  // somebody else's visit
  enter(m);
  // A thread from outside may not come again for long: what it has made runnable is others' at once.
  m.call_site = 0;  // it was another M's call, perhaps
  bool const leaves_work = m.is_foreign && !m.p->queue.is_empty_to_owner();
  go_away(m, leaves_work ? call_length::known_long : call_length::unknown);
}

}  // namespace thrum::rt

namespace thrum::detail {

[[gnu::noinline]] void begin_blocking(blocking_hint hint) noexcept {
  auto const where =
      reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1;  // the call, in the caller's code
  rt::begin_blocking(hint == blocking_hint::long_call ? rt::call_length::known_long : rt::call_length::unknown, where);
}

void end_blocking() noexcept { rt::end_blocking(); }

}  // namespace thrum::detail
