#include "sys/blocking.h"

#include "base/check.h"
#include "base/heuristics.h"
#include "core/current.h"
#include "core/trace.h"
#include "os/barrier.h"
#include "os/chaos.h"
#include "os/clock.h"
#include "os/short_wait.h"
#include "os/thread.h"
#include "sched/make_way.h"
#include "sched/own_thread.h"
#include "sched/park.h"
#include "sched/requests.h"
#include "sched/runnable.h"
#include "sched/switch.h"
#include "sched/threads.h"
#include "sched/wake.h"
#include "sched/watch.h"
#include "sys/pause.h"
#include <thrum/blocking.h>

namespace thrum::rt {
namespace {

// --- the way out: the caller has set the mark and has a P; afterwards it has none ---

[[gnu::noinline]] void release_p_traced(M& m, trace::call_detail how) noexcept {
  trace::calls(m, *m.current, how, m.call_site == 0 ? 0 : m.call_site + 1);
  static_cast<void>(release_p(m, trace::release_detail::in_call));
}

[[gnu::always_inline]] inline P& part_from_p(M& m, trace::call_detail how) noexcept {
  P& p = *m.p;
  if (p.attention.load(relaxed) != 0) [[unlikely]]
    run_requested_function(p);
  m.current->transition(g_status::running, g_status::syscall);
  if (m.sched.trace.is_on()) [[unlikely]] {
    release_p_traced(m, how);
  } else {
    m.p = nullptr;
  }
  os::chaos_point("blocking.left");
  count(p.counters.syscalls);  // sysmon tells one call from the next by this count
  return p;
}

[[gnu::noinline]] void give_p_away(M& m) noexcept {
  P& p = part_from_p(m, trace::call_detail::long_call);
  THRUM_DCHECK(m.away_from.load(relaxed) == nullptr);
  count(p.counters.handed_off);
  hand_off(m.sched, p);
}

// p's M is about to be away. While a P is idle, the timekeeper watches p's timers. Otherwise sysmon watches them, and
// takes the P for them if need be.
[[gnu::noinline]] void make_sysmon_watch_timers(Sched& s, P const& p) noexcept {
  if (!s.idle.any_idle()) make_sysmon_watch(s, p.timers.next_when());
}

// The M may find the P there on the way back.
[[gnu::always_inline]] inline void leave_p_claimable(M& m) noexcept {
  if (!os::has_barrier()) [[unlikely]]  // no thread could take the P
    return give_p_away(m);
  P& p = part_from_p(m, trace::call_detail::short_call);
  m.away_from.store(&p, relaxed);
  // Other goroutines wait for this P. If the call takes long, sysmon has to see that soon.
  bool const notifies =
      m.sched.sysmon.is_slow() && (!p.queue.is_empty_to_owner() || m.sched.global_size.load(relaxed) != 0);
  bool const has_timers = p.timers.any();
  p.status.store(p_status::syscall, release);  // pairs with owner_outside
  if (notifies) [[unlikely]]
    m.sched.sysmon.notify();
  if (has_timers) [[unlikely]]
    make_sysmon_watch_timers(m.sched, p);
}

// The mark is clear from here on.
[[gnu::always_inline]] inline void is_away(M& m) noexcept {
  m.attention.store(m_attend::away, relaxed);
  clear_mark(m);
}

// --- the way back ---

// The P is to stop, or the goroutine's slice is over.
[[gnu::noinline]] void give_up_old_p(M& m) noexcept {
  if ((m.p->attention.load(relaxed) & attend::stopping) != 0) {
    retire_p(m);
  } else {
    hand_off(m.sched, release_p(m));
  }
}

// As a rule this waits for as long as two barriers take.
[[gnu::noinline]] void wait_for_claimant(M const& m, P const& p) noexcept {
  os::short_wait wait;
  for (; p.claimed.load(acquire) != claim_for::none; wait.pause()) {  // pairs with end_claim
    if (wait.is_long() && os::current_tid() != m.tid) return;  // a child of fork has no thread that would end the claim
  }
}

// The first of the three ways back. True: is_back has to follow, with to_old_p. It records both events.
[[gnu::always_inline]] inline bool take_old_p(M& m) noexcept {
  os::chaos_point("blocking.returns");
  P* const p = m.away_from.load(relaxed);
  if (p == nullptr) return false;
  signal_fence();                                        // the mark is set before this: see sys/blocking.h
  claim_for const by_others = p->claimed.load(acquire);  // pairs with end_claim
  if (by_others != claim_for::none) [[unlikely]]
    wait_for_claimant(m, *p);
  if (m.away_from.load(relaxed) == nullptr) return false;
  THRUM_DCHECK(p->status.load(relaxed) == p_status::syscall && p->m == &m);
  m.away_from.store(nullptr, relaxed);
  p->status.store(p_status::running, relaxed);
  m.p = p;
  bool const stops = (p->attention.load(relaxed) & (attend::stopping | attend::stop_world)) != 0;
  if (!stops && by_others != claim_for::slice) [[likely]]
    return true;
  if (m.sched.trace.is_on()) trace::note::p_taken(m, *p);
  if (!stops) count(p->counters.preempted);
  give_up_old_p(m);
  return false;
}

bool was_announced(M const& m) noexcept { return (m.attention.load(relaxed) & m_attend::unannounced) == 0; }

// The second way back. Under sched.lock.
bool take_idle_p_locked(M& m) noexcept {
  P* const p = m.sched.idle.take();
  if (p == nullptr) return false;
  acquire_p(m, *p);
  if (was_announced(m)) count(p->counters.returns_to_idle);
  return true;
}

[[gnu::noinline]] void trace_return(M& m, trace::return_detail how) noexcept {
  if (how == trace::return_detail::to_old_p) trace::note::p_taken(m, *m.p);
  trace::comes_back(m, *m.current, how);
}

[[gnu::always_inline]] inline void is_back(M& m, trace::return_detail how) noexcept {
  m.attention.store(0, relaxed);
  m.current->transition(g_status::syscall, g_status::running);
  if (m.sched.trace.is_on()) [[unlikely]]
    trace_return(m, how);
}

// The third way back, for a goroutine that may go on on another thread.
void commit_return(M& m, G& left, void*) noexcept {
  global_publication locked(m.sched);
  left.transition(g_status::syscall,
                  g_status::runnable);  // under the lock, because there is no P that could be stopped
  trace::comes_back(m, left, trace::return_detail::without_p);
  locked.put(left);
}

// The first two ways back. Afterwards m holds sched.lock, unless it has a P.
enum class return_outcome : std::uint8_t { with_p, without_p, after_the_end };

[[gnu::noinline]] return_outcome come_back_with_idle_p(M& m) noexcept {
  Sched& s = m.sched;
  s.lock.acquire();
  bool const may_have_one = !s.end.has_begun() || s.end.exits_on(m);
  if (!may_have_one || !take_idle_p_locked(m))
    return s.end.has_begun() ? return_outcome::after_the_end : return_outcome::without_p;
  s.lock.release();
  is_back(m, trace::return_detail::to_idle_p);
  return return_outcome::with_p;
}

return_outcome come_back_at_once(M& m) noexcept {
  if (!take_old_p(m)) return come_back_with_idle_p(m);
  is_back(m, trace::return_detail::to_old_p);
  return return_outcome::with_p;
}

void is_back_from_the_queue(M& m) noexcept {
  if (was_announced(m)) count(m.p->counters.returns_queued);
  m.attention.store(0, relaxed);
}

// m has come back without a P, or after the end. Called with sched.lock held; releases it.
void queue_if_without_p(M& m, return_outcome how, m_status as) noexcept {
  global_publication locked(m.sched, global_publication::adopt_lock{});
  if (how == return_outcome::without_p) queue_on_own_thread(locked, m, g_status::syscall, as);
}

// The second and the third way back.
[[gnu::noinline]] M& come_back_without_old_p(M& m) noexcept {
  return_outcome const how = come_back_with_idle_p(m);
  if (how == return_outcome::with_p) return m;
  m.sched.lock.release();
  if (how == return_outcome::after_the_end) leave_goroutine_behind(m);
  m.attention.store(0, relaxed);
  M& here = suspend_to_g0(m, commit_return, nullptr);
  count(here.p->counters.returns_queued);
  return here;
}

[[gnu::always_inline]] inline M& come_back(M& m) noexcept {
  m.current->saved.pc = nullptr;
  if (m.current->keeps_its_m()) [[unlikely]] {
    come_back_on_this_thread(m);
    return m;
  }
  if (!take_old_p(m)) [[unlikely]]
    return come_back_without_old_p(m);
  is_back(m, trace::return_detail::to_old_p);
  return m;
}

// Under sched.lock. m may hold a lock that the threads which are being made, and already have Ps, need in order to
// start. So m must not wait for their Ps. It may hold such a lock in a malloc of the program's own, or in a function
// that the C library has called, for example a callback that the loader calls under its locks (dl_iterate_phdr).
bool take_p_of_starting_m_locked(M& m) noexcept {
  for (M& other : m.sched.ms.all()) {
    P* const p = take_back_from_starting_locked(other);
    if (p == nullptr) continue;
    p->tick();
    acquire_p(m, *p);
    return true;
  }
  return false;
}

return_outcome come_back_before_starting_ms(M& m) noexcept {
  return_outcome const how = come_back_at_once(m);
  if (how != return_outcome::without_p || !take_p_of_starting_m_locked(m)) return how;
  m.sched.lock.release();
  is_back(m, trace::return_detail::to_idle_p);
  start_m_if_work_is_left(m.sched);                   // other threads may have relied on that M to search,
  static_cast<void>(ensure_all_is_watched(m.sched));  // and to watch timers and the poller
  return return_outcome::with_p;
}

}  // namespace

void leave_p(M& m, blocking_hint hint) noexcept {
  if (hint == blocking_hint::long_call) {
    give_p_away(m);
  } else {
    leave_p_claimable(m);
  }
}

void go_away(M& m, blocking_hint hint) noexcept {
  leave_p(m, hint);
  is_away(m);
}

bool comes_back_on_this_thread(M& m) noexcept {
  return_outcome const how = come_back_at_once(m);
  if (how == return_outcome::with_p) return true;
  queue_if_without_p(m, how, m_status::queued);
  if (how == return_outcome::after_the_end || !sleep_in_frames_until_p(m)) return false;
  is_back_from_the_queue(m);
  return true;
}

void come_back_on_this_thread(M& m) noexcept {
  if (!comes_back_on_this_thread(m)) leave_goroutine_behind(m);
}

void get_p_in_user_code(M& m) noexcept {
  return_outcome const how = come_back_before_starting_ms(m);
  if (how != return_outcome::with_p) queue_if_without_p(m, how, paused_status(m));
  if (how == return_outcome::after_the_end) {
    stop_for_good_if_possible(m);
    return;
  }
  if (how == return_outcome::without_p) {
    if (!sleep_in_frames_until_p(m)) {
      go_on_after_the_end(m);
      return;
    }
    is_back_from_the_queue(m);
    stop_if_run_has_ended(m);
  }
  m.sched.unannounced.p_is_back();
}

}  // namespace thrum::rt

namespace thrum::detail {

using namespace rt;

// Both run on a goroutine, in user code. On other threads they do nothing. They nest. Each may change the M.

namespace {

// Whether the next call that is announced on p is one of the sample that is measured for stats::calls_took.
[[gnu::always_inline]] inline bool measures_next_call(P const& p) noexcept {
  return p.counters.syscalls.load(relaxed) % one_in::calls == 0;
}

[[gnu::noinline]] void begin_blocking_slow(M& here, blocking_hint hint, std::uintptr_t call_site) noexcept {
  M& m = here.residents.any() ? make_way(here) : here;
  if (m.residents.any() && !m.sched.unannounced.residents_announce()) m.sched.unannounced.note_call_of_resident();
  m.call_site = call_site;
  G& g = *m.current;
  g.is_call_long = hint == blocking_hint::long_call;
  g.is_call_timed = g.is_call_long || measures_next_call(*m.p);
  if (g.is_call_timed) g.waits_since_ns.store(os::monotonic_ns(), relaxed);  // read by this goroutine only
  go_away(m, hint);
}

void note_end_of_call(P& p, G& g) noexcept {
  g.is_call_timed = false;
  std::int64_t const took_ns = os::monotonic_ns() - g.waits_since_ns.load(relaxed);
  (g.is_call_long ? p.long_calls_took : p.calls_took).add(took_ns);
}

[[gnu::noinline]] void end_blocking_slow(M& m) noexcept {
  M& here = come_back(m);
  if (here.current->is_call_timed) note_end_of_call(*here.p, *here.current);
  leave_runtime(here.stands_in ? go_back(here) : here);
}

}  // namespace

// What is not the usual case is left to functions that are called last, for which these two need not save registers.

[[gnu::noinline]] void begin_blocking(blocking_hint hint) noexcept {
  M* const m = current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign) return;  // a foreign thread is always away in user code
  if (m->current->blocking_depth++ != 0) return;
  enter_runtime(*m);
  auto const site =
      reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1;  // the call, in the caller's code
  if (m->residents.any() || hint == blocking_hint::long_call || measures_next_call(*m->p)) [[unlikely]]
    return begin_blocking_slow(*m, hint, site);
  m->call_site = site;
  leave_p_claimable(*m);
  is_away(*m);
}

void end_blocking() noexcept {
  M* const m = current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign) return;
  if (--m->current->blocking_depth != 0) return;
  // The M is not away if the goroutine has used the runtime inside the call and has parked there.
  if ((m->attention.load(relaxed) & m_attend::away) == 0) {
    m->current->is_call_timed = false;
    return;
  }
  m->in_runtime.store(true, relaxed);
  bool const is_usual = !m->current->keeps_its_m() && !m->stands_in && !m->current->is_call_timed;
  m->current->saved.pc = nullptr;
  if (!is_usual || !take_old_p(*m)) [[unlikely]]
    return end_blocking_slow(*m);
  is_back(*m, trace::return_detail::to_old_p);
  leave_runtime(*m);
}

}  // namespace thrum::detail
