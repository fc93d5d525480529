#include "sys/preempt.h"

#include "arch/context.h"
#include "arch/stack_walk.h"
#include "base/check.h"
#include "base/heuristics.h"
#include "core/current.h"
#include "os/clock.h"
#include "os/interrupted_code.h"
#include "os/loaded_code.h"
#include "os/signal.h"
#include "sched/own_thread.h"
#include "sched/queues.h"
#include "sched/requests.h"
#include "sched/resting_ms.h"
#include "sched/runnable.h"
#include "sched/switch.h"
#include "sched/timekeeper.h"
#include "sched/wake.h"
#include "stack/overflow.h"
#include "sys/blocking.h"
#include "sys/pause.h"

namespace thrum::rt {
namespace {

bool others_wait(Sched const& s, P const& p) noexcept {
  return s.global_queue.has_plain() || !p.queue.looks_empty() || p.attention.load(relaxed) != 0 ||
         p.timers.next_when() <= os::monotonic_ns();
}

// The M that gets the P of a goroutine that is paused: an M that rests, or the M that has waited longest in the global
// queue.
struct heir {
  resting_m rested;
  M* waited_longest = nullptr;
  bool orders_spare = false;  // the thread maker is to be notified

  explicit operator bool() const noexcept { return rested.m != nullptr || waited_longest != nullptr; }
};

// Counts the end of this slice. True at every fourth one, if other goroutines wait: they then have a turn, although
// many goroutines are paused.
bool try_turn_of_others(Sched& s, P& p) noexcept {
  if (++p.slices_ended % asking::slices_per_turn_of_others != 0 || !others_wait(s, p)) return false;
  s.pauses.give_plain_turn();
  return true;
}

heir choose_heir_locked(Sched& s, P& p) noexcept {
  heir next;
  if (s.pauses.are_many() && !try_turn_of_others(s, p)) next.waited_longest = take_oldest_locked(s);
  if (next) return next;
  if (s.pauses.may_be(1)) next.rested = take_resting_m_locked(s);
  // The spare thread is for the goroutine that is paused next: another one at the end of the next slice, or this one
  // when its slice is tried again.
  next.orders_spare = order_spare_locked(s, next ? 2 : 1);
  if (!next) next.waited_longest = take_oldest_locked(s);
  return next;
}

void give_p_to(heir const& next, P& p) noexcept {
  if (next.waited_longest != nullptr) {
    give_p(*next.waited_longest, p);
  } else if (next.rested.is_to_be_woken) {
    next.rested.m->wake_note.wake();
  }
}

// Queues m's goroutine in the global queue, gives m's P away and sleeps until another thread gives m a P. Returns at
// once if no M can take the P. If the world is to stop, the P stops instead of going to another M. The caller has set
// the mark and has a P.
void pause(M& m) noexcept {
  Sched& s = m.sched;
  P& p = *m.p;
  s.lock.acquire();
  if (s.end.has_begun()) {
    s.lock.release();
    stop_for_good_if_possible(m);
    return;
  }
  bool const world_stops = is_to_stop(p);
  heir const next = world_stops ? heir() : choose_heir_locked(s, p);
  if (!next && !world_stops) {
    s.lock.release();
    if (next.orders_spare) s.thread_maker.notify();
    return;
  }
  count(p.counters.preempted);
  release_p(m).m = nullptr;
  {
    global_publication locked(s, global_publication::adopt_lock{});  // its end releases sched.lock
    queue_on_own_thread(locked, m, g_status::running, paused_status(m));
    if (world_stops) static_cast<void>(stop_if_asked_locked(s, p));
    if (next.rested.m != nullptr) s.ms.promise(*next.rested.m, p);
  }
  if (!world_stops) give_p_to(next, p);
  if (next.orders_spare) s.thread_maker.notify();
  do_pending_watch_check(m);
  if (sleep_in_frames_until_p(m)) {
    stop_if_run_has_ended(m);
  } else {
    go_on_after_the_end(m);
  }
}

// Whether the thread is in a signal handler of the program, or in a section that blocks signals. A signal handler on
// another thread may have interrupted the runtime there, and may wait for a lock that this thread holds.
bool may_block_other_handlers(M const& m, void const* ucontext) noexcept {
  return !m.sched.ms_signals.was_in_force(ucontext) || os::was_on_signal_stack(ucontext);
}

pause_in place_of(void const* ucontext) noexcept {
  switch (os::owner_of_code(os::program_counter_of(ucontext))) {
    case os::code_owner::libc_kin: return pause_in::libc;
    case os::code_owner::kernel: return pause_in::vdso;
    default: return pause_in::program;
  }
}

// Notes for sysmon whether the thread makes system calls, because sysmon then asks it by a timer.
void note_calls(M& m, pause_in place, void const* ucontext) noexcept {
  if (place == pause_in::libc) m.pause.note_call(os::is_behind_a_system_call(os::program_counter_of(ucontext)));
}

// Whether the caller runs on the signal stack, that is, in a signal handler of the program: see
// may_block_other_handlers.
bool is_on_signal_stack(M const& m) noexcept {
  auto const low = reinterpret_cast<std::uintptr_t>(m.signal_stack.low);
  return reinterpret_cast<std::uintptr_t>(stack_pointer()) - low < os::alt_stack_bytes();
}

bool is_still_asked(M const& m) noexcept { return m.p != nullptr && m.pause.is_about(m.p->schedtick.load(relaxed)); }

}  // namespace

void answer_pause_signal(void const* ucontext) noexcept {
  M* const m = current_m();
  if (m == nullptr) return;
  // wherever the thread was found, because sysmon learns from this count that the request arrived
  m->pause.note_answer();
  if (m->current == nullptr) return;
  pause_in const place = place_of(ucontext);
  note_calls(*m, place, ucontext);
  if (m->in_runtime.load(relaxed)) {
    m->attention.fetch_or(m_attend::pause, relaxed);  // leave_runtime() will see it, on this thread
    return;
  }
  // A foreign thread outside the runtime gives its P up in a moment, so it is never paused (sys/blocking.cpp).
  if (m->is_foreign) return;
  if (may_block_other_handlers(*m, ucontext)) {
    // The handler does nothing more here. Even a look at the P may need a lock of the runtime, and the holder of that
    // lock may be in such a signal handler.
    m->attention.fetch_or(m_attend::pause, relaxed);
    return;
  }
  if (has_left_its_stack(*m->current, reinterpret_cast<char const*>(os::stack_pointer_of(ucontext)))) [[unlikely]] {
    G const& g = *m->current;
    report_jump({*g.on, g.id, g.task.created_at}, os::interrupted_registers(ucontext));
  }
  bool const is_over = m->sched.end.is_seen();
  bool const may_hold_a_lock = place != pause_in::program;
  bool const may_be_stopped = !may_hold_a_lock || (!is_over && m->pause.reaches(place));
  THRUM_DCHECK(ranks_held() == 0);
  m->in_runtime.store(true, relaxed);
  signal_fence();
  std::uint32_t const seen = m->attention.load(acquire);  // pairs with take_p_of_sleeper
  m->is_interrupted_in_libc = may_hold_a_lock;
  m->interrupted = ucontext;
  constexpr std::uint32_t without_p = m_attend::away | m_attend::unannounced;
  bool const has_p = (seen & ~m_attend::pause) == 0 && m->p != nullptr;
  if (is_over && may_be_stopped) stop_for_good_if_possible(*m);
  // A thread that was found in the C library must not wait for a P there, because it may hold a lock. It goes on
  // without a P.
  bool const may_wait_here = place != pause_in::libc || may_be_stopped;
  if (may_wait_here && (seen & without_p) == without_p) {
    get_p_in_user_code(*m);
  } else if (has_p) {
    run_requested_function(*m->p);  // this does not stop the thread
    if (may_be_stopped && is_still_asked(*m)) pause(*m);
  }
  m->is_interrupted_in_libc = false;
  m->interrupted = nullptr;
  clear_mark(*m);
}

void look_at_mask(M& m) noexcept {
  if (m.is_foreign || m.mask_was_changed || m.sched.ms_signals.is_in_force()) return;
  if (m.current != nullptr && m.current->is_at_home) return;  // it resumes on this thread, and keeps the mask
  m.mask_was_changed = true;
  if (m.suspend_by == suspend_mode::directly) m.suspend_by = suspend_mode::through_g0;
}

void pause_if_still_asked(M& m) noexcept {
  m.attention.fetch_and(~m_attend::pause, relaxed);
  // Without preemption by signal, a goroutine that its run has left behind goes on for good. sysmon may have asked for
  // its P during the run.
  if (m.sched.end.goroutines_are_left_behind() && !m.sched.options.async_preemption) return;
  if (m.current == nullptr || is_on_signal_stack(m) || !m.sched.ms_signals.is_in_force()) return;
  enter_runtime(m);
  if (m.sched.end.is_seen()) stop_for_good_if_possible(m);
  run_requested_function(*m.p);
  if (is_still_asked(m)) pause(m);
  clear_mark(m);
}

}  // namespace thrum::rt
