#include "sys/slices.h"

#include "base/ablation.h"
#include "base/heuristics.h"
#include "core/trace.h"
#include "os/barrier.h"
#include "os/clock.h"
#include "os/pause_signal.h"
#include "sched/requests.h"
#include "sched/resting_ms.h"
#include "sys/unannounced.h"

#include <algorithm>
#include <utility>

namespace thrum::rt {

using namespace asking;

namespace {

// What other threads did under the lock before this is visible after it.
void pass_through(os::lock& door) noexcept {
  door.acquire();
  door.release();
}

void note_cpu(sightings::time_slice& seen, std::int64_t cpu_ns, std::int64_t now_ns) noexcept {
  seen.cpu_ns = cpu_ns;
  seen.cpu_at_ns = now_ns;
}

bool has_computed(M const& m, sightings::time_slice& seen, std::int64_t at_least_ns, std::int64_t now_ns) noexcept {
  seen.cpu_at_ns = now_ns;
  return os::has_computed(hint_of(m.tid), at_least_ns, seen.cpu_ns);
}

// Another thread waits for this P, to stop the world or for a look at every P.
bool is_urgent(P const& p) noexcept {
  return (p.attention.load(relaxed) & (attend::stop_world | attend::safe_point)) != 0;
}

}  // namespace

slice_watch::slice_watch(Sched& s, report_text& reports) noexcept : sched_(s), without_p_(s, reports) {
  std::int64_t const tick_ns = os::tick_ns();
  if (s.options.async_preemption && s.options.slice_ns >= tick_ns) tick_ns_ = tick_ns;
}

verdict slice_watch::look(std::int64_t now_ns) noexcept {
  verdict most = verdict::nothing;
  next_look_ns_ = never_ns;
  uses_timers_ = applies(heuristic::slice_timers) && tick_ns_ != 0 && now_ns >= timers_again_ns_;
  for (P* const p : sched_.procs) {
    p->seen.slice.is_kept = false;
    most = std::max(most, look_at(*p, p->seen.slice, now_ns));
  }
  without_p_.look(now_ns);
  return most;
}

verdict slice_watch::look_at(P& p, slice& seen, std::int64_t now_ns) noexcept {
  bool const is_used = p.status.load(relaxed) == p_status::running;  // relaxed: a hint
  M* const m = is_used ? hint_of(p.m) : nullptr;
  std::uint32_t const tick = p.schedtick.load(relaxed);
  // The P was handed to a thread that has no CPU yet. Its slice begins as soon as it has one.
  if (is_used && m == nullptr && p_is_wanted(p, now_ns)) look_again_at(now_ns + ask_again_after_ns);
  if (m != seen.m || tick != seen.tick) return begin(p, seen, m, tick, now_ns);
  if (m == nullptr) return verdict::nothing;
  seen.ask_ns = is_urgent(p) ? std::min(seen.ask_ns, seen.asked_ns + ask_again_soon_ns)
                             : std::max(seen.ask_ns, asks_from_ns(seen));
  bool const is_wanted = p_is_wanted(p, now_ns);
  if (!is_wanted) look_again_at(std::max(seen.ask_ns, p.timers.next_when()));
  if (is_wanted && !seen.spare_was_asked_for && now_ns >= seen.ends_ns - sched_.options.slice_ns / 2) {
    seen.spare_was_asked_for = true;
    if (applies(heuristic::spare_thread)) ensure_spare_thread(sched_);
  }
  if (m->in_runtime.load(relaxed)) {
    seen.cpu_ns = -1;
    // A goroutine that calls the runtime again and again is never found outside of it. It is asked to look at the
    // request itself when it leaves the runtime.
    std::int64_t const due_ns = std::max(seen.ask_ns, is_urgent(p) ? now_ns : seen.ends_ns);
    if (is_wanted && now_ns < due_ns) {
      look_again_at(due_ns);
    } else if (is_wanted) {
      m->pause.ask_for(tick_to_ask_for(p, seen, now_ns));
      m->attention.fetch_or(m_attend::pause, relaxed);
      trace::preempts(*m);
    }
    return is_urgent(p) ? verdict::hurry : verdict::nothing;
  }
  bool const is_worth_taking = is_wanted || no_thread_could_help();
  if (!is_worth_taking && now_ns < seen.ends_ns) return verdict::nothing;
  std::int64_t const looked_at_ns = os::monotonic_ns();
  thread_seen const at{seen.thread.look(hint_of(m->tid)), looked_at_ns, is_wanted};
  if (at.state.activity == os::thread_activity::sleeps_in_call)
    return look_at_sleeper(p, *m, seen, at, is_worth_taking);
  if (std::exchange(seen.slept, {}) != os::thread_state()) seen.cpu_ns = -1;
  switch (at.state.activity) {
    case os::thread_activity::runs: return look_at_runner(p, *m, seen, at, now_ns);
    case os::thread_activity::unknown: return look_at_clock(p, *m, seen, at, now_ns);
    default: return verdict::nothing;
  }
}

verdict slice_watch::begin(P const& p, slice& seen, M* m, std::uint32_t tick, std::int64_t now_ns) noexcept {
  if (m != seen.m) pass_through(sched_.lock);  // Ms are made under this lock, so this M is complete
  if (seen.asked_by_timer && was_answered(*seen.m, seen)) timers_without_answer_ = 0;
  seen.m = m;
  seen.tick = tick;
  seen.ends_ns = now_ns + sched_.options.slice_ns;
  seen.ask_ns = asks_from_ns(seen);
  seen.asked_ns = 0;
  seen.again_ns = ask_again_after_ns;
  seen.cpu_ns = -1;
  seen.slept = {};
  seen.asked = 0;
  seen.refused = 0;
  seen.spare_was_asked_for = false;
  seen.asked_by_timer = false;
  seen.timer_failed = false;
  if (m != nullptr && p_is_wanted(p, now_ns)) look_again_at(seen.ask_ns);
  if (!is_urgent(p)) return verdict::nothing;
  if (m != nullptr) note_cpu(seen, os::thread_cpu_ns(hint_of(m->tid)), now_ns);  // for the next look
  return verdict::hurry;
}

// Many sleeps are over within microseconds, for example for a lock of the kernel, so a sleep counts only if it is there
// at two looks. If the P is not missed (S17), the thread must also not have run in between.
verdict slice_watch::look_at_sleeper(P& p, M& m, slice& seen, thread_seen const& at, bool is_worth_taking) noexcept {
  bool const slept_there = at.state == std::exchange(seen.slept, at.state);
  bool const has_run = !is_worth_taking && has_computed(m, seen, 1, at.ns);
  verdict const if_awake = is_worth_taking ? verdict::look_again_soon : verdict::nothing;
  return slept_there && !has_run ? take_from(p, m, at, if_awake) : if_awake;
}

// If no thread could use the P, there is no hurry, because nothing changes until a thread comes back from a call.
verdict slice_watch::take_from(P& p, M& m, thread_seen const& at, verdict if_awake) noexcept {
  switch (take_p_of_sleeper(sched_, p, m, at.state, p.seen.slice.thread)) {
    case take_p_outcome::done: return verdict::acted;
    case take_p_outcome::is_awake: return if_awake;
    case take_p_outcome::no_thread: break;
  }
  p.seen.slice.is_kept = true;
  look_again_at(at.ns + no_thread_again_after_ns);
  return verdict::nothing;
}

// A thread that the kernel calls running may be on its way out of a call whose time is over, and wait for a CPU. A
// signal would make the call fail (T04), and so would a timer on a kernel that sends its signal from the tick. So
// sysmon must have seen the thread compute before it asks in either way. As long as the thread has no CPU there is no
// hurry, because it does not keep other threads from running.
verdict slice_watch::look_at_runner(P& p, M& m, slice& seen, thread_seen const& at, std::int64_t now_ns) noexcept {
  if (!at.is_wanted) {
    seen.cpu_ns = -1;  // the thread may sleep before its P is wanted
    return verdict::nothing;
  }
  if (now_ns < seen.ask_ns) {
    look_again_at(seen.ask_ns);
    return verdict::nothing;
  }
  if (!is_urgent(p) && await_timer(m, seen, now_ns)) {
    look_again_at(now_ns + tick_ns_ / 8);
    return verdict::nothing;
  }
  bool const is_first_look = seen.cpu_ns < 0;
  if (has_computed(m, seen, computing_for_ns / 4, at.ns)) return ask(p, m, seen, at, now_ns);
  if (is_urgent(p)) return verdict::hurry;
  look_again_at(now_ns + (is_first_look ? computing_for_ns : 4 * computing_for_ns));
  return verdict::nothing;
}

// If the kernel does not tell what the thread does (no /proc, no permission, no descriptor left), its CPU clock does:
//  - A thread that has used no CPU for a slice sleeps. Once its slice is over, a moment without CPU is enough.
//  - A thread that has used nearly all of a millisecond computes.
//  - Ten slices after its slice was over, a thread that has used any CPU at all is taken to compute, because there is
//    no better sign.
verdict slice_watch::look_at_clock(P& p, M& m, slice& seen, thread_seen const& at, std::int64_t now_ns) noexcept {
  bool const is_due = at.is_wanted && now_ns >= seen.ask_ns;
  std::int64_t const cpu_ns = os::thread_cpu_ns(hint_of(m.tid));
  if (seen.cpu_ns < 0) {
    seen.window_ns = cpu_ns;
    seen.window_at_ns = at.ns;
  }
  bool const used_no_cpu = cpu_ns == seen.cpu_ns;
  if (!used_no_cpu) note_cpu(seen, cpu_ns, at.ns);
  bool const sleeps = used_no_cpu && at.ns - seen.cpu_at_ns >= (is_due ? computing_for_ns : sched_.options.slice_ns);
  if (sleeps && os::has_barrier()) return take_from(p, m, at, verdict::look_again_soon);
  if (at.is_wanted) look_again_at(now_ns + (is_due ? computing_for_ns : ask_again_after_max_ns));
  if (!used_no_cpu && at.ns - seen.window_at_ns >= clock_tells_after_ns) {
    std::int64_t const used_ns = cpu_ns - std::exchange(seen.window_ns, cpu_ns);
    std::int64_t const since_ns = at.ns - std::exchange(seen.window_at_ns, at.ns);
    bool const is_long_due = now_ns - seen.ends_ns >= slices_before_any_sign_will_do * sched_.options.slice_ns;
    bool const is_asked = !is_urgent(p) && await_timer(m, seen, now_ns);
    if (is_due && !is_asked && (is_long_due || used_ns >= since_ns / 4 * 3)) return ask(p, m, seen, at, now_ns);
  }
  return is_urgent(p) ? verdict::hurry : verdict::nothing;
}

// Returns the schedtick of the present slice if the goroutine is to pause. Otherwise returns that of a slice that is
// over, so that the goroutine is interrupted only for a look at its P, and goes on.
std::uint32_t slice_watch::tick_to_ask_for(P const& p, slice const& seen, std::int64_t now_ns) const noexcept {
  return is_to_stop(p) || now_ns >= asks_from_ns(seen) ? seen.tick : seen.tick - 1;
}

verdict slice_watch::ask(P& p, M& m, slice& seen, thread_seen const& at, std::int64_t now_ns) noexcept {
  int const polite = is_to_stop(p) ? asked_before_insisting_to_stop : asked_before_insisting;
  // A goroutine that is paused inside the C library may hold a lock. A thread that waits for this lock must lose its
  // P, so that the goroutine can get one. Therefore sysmon must be able to see that such a thread sleeps.
  bool const may_insist = at.state.activity == os::thread_activity::runs;
  pause_in reach = pause_in::program;
  if (may_insist && seen.asked >= asked_before_insisting_in_vdso) reach = pause_in::vdso;
  if (may_insist && seen.asked >= polite) reach = pause_in::libc;
  m.pause.set_reach(reach);
  std::uint32_t const tick = tick_to_ask_for(p, seen, now_ns);
  m.pause.ask_for(tick);
  // If there is no answer, the thread may have the signal blocked. The M then looks at its mask when it next enters the
  // runtime.
  std::uint32_t const answers = m.pause.answers();
  bool const last_has_arrived = answers != std::exchange(seen.answers_when_asked, answers);
  if (seen.asked != 0 && !last_has_arrived) m.attention.fetch_or(m_attend::pause, relaxed);
  seen.asked_by_timer = asks_by_timer(p, m, seen);
  bool const is_asked = seen.asked_by_timer ? set_timer(m, seen, now_ns) : send(m, seen, at.ns);
  if (!is_asked) return verdict::look_again_soon;
  seen.asked_ns = now_ns;
  if (seen.asked_by_timer) {
    seen.asked += requests_per_timer;
    seen.ask_ns = now_ns + tick_ns_ / 8;  // so that sysmon soon sees the slice that begins when the timer has fired
  } else if (tick == seen.tick) {
    ++seen.asked;
    seen.ask_ns = now_ns + seen.again_ns;
    seen.again_ns = std::min(seen.again_ns * 2, ask_again_after_max_ns);
  } else {
    seen.ask_ns = seen.ends_ns;
  }
  look_again_at(is_urgent(p) ? now_ns + ask_again_soon_ns : seen.ask_ns);
  return is_urgent(p) ? verdict::acted : verdict::look_again_soon;  // soon, because the next goroutine's slice begins
}

bool slice_watch::p_is_wanted(P const& p, std::int64_t now_ns) const noexcept {
  return is_waited_for(sched_, p) || p.timers.next_when() <= now_ns;
}

bool slice_watch::no_thread_could_help() const noexcept { return sched_.idle.all_busy(); }

// Timers are used for the first request, and as long as the thread makes system calls. A timer that has not fired for
// long, or that could not be set, is given up for this slice.
bool slice_watch::asks_by_timer(P const& p, M const& m, slice const& seen) const noexcept {
  if (!uses_timers_ || seen.timer_failed || is_urgent(p)) return false;
  if (seen.asked == 0) return true;
  return was_answered(m, seen) && m.pause.makes_calls();
}

bool slice_watch::was_answered(M const& m, slice const& seen) noexcept {
  return m.pause.answers() != seen.answers_seen;
}

// If this fails, sysmon does not send a signal at once instead, because the next look sees what the thread does then.
bool slice_watch::set_timer(M const& m, slice& seen, std::int64_t now_ns) noexcept {
  int const tid = hint_of(m.tid);
  // This comes before the timer is set, because the timer may fire at once.
  seen.answers_seen = m.pause.answers();
  seen.cpu_when_asked_ns = os::thread_cpu_ns(tid);
  bool const is_gone = seen.cpu_when_asked_ns < 0;
  if (is_gone || !seen.timer.send_at_next_tick(tid)) {
    seen.asked_by_timer = false;
    seen.timer_failed = true;
    if (!is_gone) give_timers_up(now_ns);  // the kernel has no such timers, or none left
    return false;
  }
  count(sched_.sysmon.preemptions_asked);
  return true;
}

void slice_watch::give_timers_up(std::int64_t now_ns) noexcept {
  uses_timers_ = false;
  timers_again_ns_ = now_ns + timers_again_after_ns;
  timers_without_answer_ = timers_without_answer_max - 1;
}

// Returns whether a timer was set and may still fire, that is, until the thread has had a CPU for some kernel ticks.
// Counts a timer that has failed.
bool slice_watch::await_timer(M const& m, slice& seen, std::int64_t now_ns) noexcept {
  if (!seen.asked_by_timer) return false;
  if (was_answered(m, seen)) {
    timers_without_answer_ = 0;
    return false;
  }
  std::int64_t const cpu_ns = os::thread_cpu_ns(hint_of(m.tid));
  bool const is_gone = cpu_ns < 0;
  if (!is_gone && cpu_ns - seen.cpu_when_asked_ns < ticks_to_answer * tick_ns_) return true;
  seen.asked_by_timer = false;
  if (!is_gone && ++timers_without_answer_ >= timers_without_answer_max) give_timers_up(now_ns);
  return false;
}

// The thread ran at `looked_at_ns`. If that is long ago, because sysmon itself was kept from running, the thread may
// be asleep by then, and must not be signalled (T04). What remains is the time of two system calls: this one, and
// the one that the thread may be about to make.
bool slice_watch::send(M& m, slice& seen, std::int64_t looked_at_ns) noexcept {
  if (!sched_.options.async_preemption && !sched_.world.loops_are_interrupted()) {
    m.attention.fetch_or(m_attend::pause, relaxed);
  } else {
    if (os::monotonic_ns() - looked_at_ns > fresh_look_ns && ++seen.refused <= refusals_max) return false;
    static_cast<void>(os::send_pause_signal(hint_of(m.tid)));
  }
  count(sched_.sysmon.preemptions_asked);
  return true;
}

void slice_watch::close() noexcept {
  for (P* const p : sched_.procs.all()) {
    p->seen.slice.thread.close();
    p->seen.slice.timer.close();
  }
  without_p_.close();
}

void slice_watch::look_again_at(std::int64_t when_ns) noexcept { next_look_ns_ = std::min(next_look_ns_, when_ns); }

}  // namespace thrum::rt
