#include "sched/end_all_ms.h"

#include "core/claims.h"
#include "core/ender.h"
#include "core/m_list.h"
#include "core/trace.h"
#include "os/barrier.h"
#include "os/clock.h"
#include "os/interrupted_code.h"
#include "os/pause_signal.h"
#include "os/short_wait.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "sched/library_frames.h"
#include "sched/requests.h"
#include "sched/resting_ms.h"
#include "sched/threads.h"

#include <algorithm>

namespace thrum::rt {
namespace {

// Most threads end or stop within microseconds. Only threads that do not are signalled, and repeatedly while they are
// where they must not be stopped.
constexpr std::int64_t first_signal_after_ns = 1'000'000;
constexpr std::int64_t next_signal_after_max_ns = 2'000'000;
// On a busy machine the waiting thread may find that its time is over before it has done anything. A signal that was
// sent stops its thread as soon as that thread gets a CPU.
constexpr int signals_min = 3;

// Under sched.lock, for a thread that is paused in user code: whether it stays there for good. If that cannot be told
// yet, because the thread is on its way to sleep, it goes on, and is stopped like the threads that compute. The ender
// goes on as well, unless the program ends by exit() (core/ender.h).
bool stays_paused(M const& m, G const& g) noexcept {
  if (is_ender(g) && !m.sched.end.is_by_exit()) return false;
  if (m.is_interrupted_in_libc || malloc_cannot_be_told(m.sched)) return false;
  if (m.interrupted != nullptr) return !has_frames_of_libc(g, os::interrupted_registers(m.interrupted));
  // pairs with call_with_context
  return published_pointer(g.saved.pc) != nullptr && !has_frames_of_libc(g, registers_of(g.saved));
}

// Under sched.lock: m sleeps, and is told to end.
void dismiss(Sched& s, M& m, ms_to_end& to_end) noexcept {
  if (m.rests()) leave_global_queue(s, m);
  s.ms.dismiss(m);
  to_end.push(m);
}

// Under sched.lock: tells those threads that wait for their goroutine's turn and have to go on. They go on to their
// end, or, if they are paused where they may hold a lock of the C library, until they are out of there. Threads that
// are paused elsewhere stay where they are.
void end_ms_that_want_a_p(Sched& s, ms_to_end& to_end) noexcept {
  while (M* const m = s.global_queue.pop_in_frames()) {
    trace::global_queue_changed(s);
    bool const waits = m->status == m_status::queued || (m->is_paused() && !stays_paused(*m, *m->current));
    if (waits && !m->is_foreign) dismiss(s, *m, to_end);
  }
}

// Under sched.lock: the same for threads whose locked goroutine is parked.
void end_ms_in_place(Sched& s, ms_to_end& to_end) noexcept {
  for (M& m : s.ms.all()) {
    if (m.status == m_status::in_place && !m.is_foreign) dismiss(s, m, to_end);
  }
}

// Under sched.lock: takes the Ps of Ms in system calls. An M that returns from its call finds its P gone. An M that is
// just entering or leaving a call keeps its P for the moment.
void take_back_from_calls_locked(Sched& s) noexcept {
  take_from_calls(s.procs, [&](P& p) {
    run_requested_function(p);
    if (!stop_if_asked_locked(s, p)) s.idle.put(p);
  });
}

// After this no M gets a P. The caller has to wake the Ms in `told`. False: scheduling was stopped before, by exit() on
// a goroutine or by the end of the run, and the M that did so wakes them.
bool stop_scheduling_locked(Sched& s, ms_to_end& to_end) noexcept {
  s.lock.assert_held();
  if (!s.end.begin()) return false;
  // relaxed: seen at the next safe point
  for (auto const& p : s.procs) p->attention.fetch_or(attend::stopping, relaxed);
  take_back_from_calls_locked(s);
  while (M* const idle = s.ms.first_idle()) dismiss(s, *idle, to_end);
  // a timekeeper that was roused sees for itself that the run is over
  if (M* const keeper = s.ms.timekeeper(); keeper != nullptr && take_from_rest_locked(*keeper)) {
    dismiss(s, *keeper, to_end);
  }
  end_ms_that_want_a_p(s, to_end);
  end_ms_in_place(s, to_end);
  return true;
}

// Visits all threads of Ms except the caller's, which is M0's at the end of a run, and that of a goroutine that has
// called exit().
template <class F>
void for_each_thread(Sched& s, M const* caller, F visit) noexcept {
  M const* const exits = s.end.exiting_m();  // if it is missed, a signal does not stop that thread
  for (M& m : all_ms_now(s)) {               // a foreign thread may take a seat meanwhile
    bool const exists = m.id == 0 ? caller != nullptr : m.thread_exists.load(acquire);
    if (exists && &m != exits && !m.is_foreign) visit(m);  // a signal to a thread that is gone does no harm
  }
}

// A thread that sleeps in the kernel is not signalled, because a signal would end its call and its goroutine would go
// on (T04). A thread whose CPU clock has not moved since the last look has slept; where thousands of threads sleep,
// this is the cheapest check. Returns how many threads were signalled.
int signal_all_that_compute(Sched& s, M const* caller) noexcept {
  int count = 0;
  for_each_thread(s, caller, [&](M& m) noexcept {
    int const tid = hint_of(m.tid);
    std::int64_t const cpu_ns = os::thread_cpu_ns(tid);
    std::int64_t const before_ns = m.cpu_seen_at_end_ns.exchange(cpu_ns, relaxed);
    if (cpu_ns == before_ns) return;
    os::thread_watch watch;
    os::thread_activity const seen = watch.look(tid).activity;
    bool const computes = seen == os::thread_activity::runs || (seen == os::thread_activity::unknown && before_ns >= 0);
    if (!computes) return;
    ++count;
    os::send_pause_signal(tid);
  });
  return count;
}

void wait_until_all_have_stopped(Sched& s, std::int64_t patience_ns) noexcept {
  std::int64_t now_ns = os::monotonic_ns();
  std::int64_t const until_ns = now_ns + patience_ns;
  std::int64_t interval_ns = first_signal_after_ns;
  std::int64_t next_signal_ns = now_ns + interval_ns;
  os::short_wait wait;
  int signals_due = s.options.async_preemption ? signals_min : 0;
  for (; !all_ms_have_stopped(s) && (now_ns < until_ns || signals_due > 0); now_ns = os::monotonic_ns()) {
    if (now_ns >= next_signal_ns) {
      {
        os::lock_guard const guard(s.lock);
        take_back_from_calls_locked(s);  // a thread that has not stopped may wait for such a P
      }
      if (s.options.async_preemption) static_cast<void>(signal_all_that_compute(s, nullptr));
      --signals_due;
      interval_ns = std::min(interval_ns * 2, next_signal_after_max_ns);
      next_signal_ns = now_ns + interval_ns;
    }
    wait.pause();
  }
}

// A goroutine that the run leaves behind may be inside the runtime at this moment, in a primitive that outlives the
// run. It leaves the runtime, or sleeps for good, within microseconds of its thread's time. But on a busy machine the
// thread may wait long for a CPU, and the next run must not begin before that (sync/stamp.h, rule 3). A goroutine that
// enters the runtime after this finds that its run leaves it behind. Foreign threads are not told that the run is over
// before all are out, because they would drop the flags of goroutines that are still inside.
void wait_for_ms_inside(Sched& s) noexcept {
  constexpr std::int64_t patience_ns = 10'000'000'000;
  s.end.note_goroutines_are_left_behind();
  bool const has_barrier = os::has_barrier();
  if (has_barrier)
    os::barrier_in_all_threads();  // after it, a mark that was set before the load in goroutines_are_left_behind() is
                                   // seen
  std::int64_t const until_ns = os::monotonic_ns() + patience_ns;
  for_each_thread(s, nullptr, [&](M& m) noexcept { os::wait_until([&] { return !is_active_inside(m); }, until_ns); });
  if (has_barrier) os::barrier_in_all_threads();  // after it, what a thread did before it cleared its mark is seen
}

// Destructors of its thread-locals may keep a thread for longer than the caller waits. The thread has finished with the
// run by then.
void join_or_detach(M& m, std::int64_t until_ns) noexcept {
  bool const is_joined = os::wait_until([&] { return os::join_thread_if_ended(m.thread, m.tid); }, until_ns);
  if (!is_joined) os::detach_thread(m.thread);
}

// nullptr: the run belongs to an object of class runtime.
M* find_m0_locked(Sched const& s) noexcept {
  return s.ms.all().find([](M const& m) { return m.id == 0; });
}

// Whether all threads have ended or stopped except the caller's, whose goroutine has called exit(). Unlike at the end
// of a run, M0 may be in user code. It is not counted in threads_left(), but it is counted as stopped if it was paused
// or stopped there.
bool all_others_have_stopped(Sched& s) noexcept {
  os::lock_guard const guard(s.lock);
  M const* const m0 = find_m0_locked(s);
  bool const m0_is_at_work = m0 != nullptr && m0->status != m_status::waits_for_end;
  return s.end.threads_left() + (m0_is_at_work ? 1 : 0) - 1 == s.ms.stopped();
}

}  // namespace

bool all_ms_have_stopped(Sched const& s) noexcept { return s.end.threads_left() == s.ms.stopped(); }

bool is_active_inside(M const& m) noexcept {
  if (!m.in_runtime.load(acquire) || m.sleeps_inside.load(relaxed)) return false;
  os::lock_guard const guard(m.sched.lock);
  return !m.is_paused();
}

void stop_all_but(M& exiting) noexcept {
  constexpr std::int64_t patience_ns = 200'000'000;
  constexpr std::int64_t look_every_ns = 1'000'000;
  constexpr int looks_in_vain_max = 20;  // after so many, all others sleep in the kernel, perhaps for long
  Sched& s = exiting.sched;
  ms_to_end to_end;
  bool is_first = false;  // if it stays so, the run ends at this moment, and M0 stops the others
  {
    os::lock_guard const guard(s.lock);
    is_first = stop_scheduling_locked(s, to_end);
  }
  to_end.wake_all();
  bool const signals = is_first && s.options.async_preemption;
  std::int64_t next_look_ns = os::monotonic_ns() + look_every_ns;
  int in_vain = 0;
  os::short_wait wait;
  for (std::int64_t const until_ns = os::monotonic_ns() + patience_ns; !all_others_have_stopped(s);) {
    std::int64_t const now_ns = os::monotonic_ns();
    if (now_ns >= until_ns || in_vain == looks_in_vain_max) break;
    if (is_first && now_ns >= next_look_ns) {
      int const computing = signals ? signal_all_that_compute(s, &exiting) : 0;
      in_vain = computing == 0 ? in_vain + 1 : 0;
      next_look_ns = now_ns + look_every_ns;
    }
    wait.pause();
  }
  if (signals && !malloc_cannot_be_told(s) && !all_others_have_stopped(s)) {
    for_each_thread(s, &exiting, [](M& m) noexcept { os::keep_sending_pause_signals(hint_of(m.tid)); });
  }
}

end_of_ms end_all_ms(Sched& s, std::int64_t patience_ns, bool world_is_kept) noexcept {
  ms_to_end to_end;
  bool is_first = false;
  {
    os::lock_guard const guard(s.lock);
    is_first = stop_scheduling_locked(s, to_end);
    if (M* const m0 = find_m0_locked(s)) s.ms.wait_for_end(*m0);  // M0 is here
  }
  if (world_is_kept) s.world.give_back();  // the threads that wait for the right see that the run is over
  if (!is_first) return {};                // exit() on a goroutine has stopped the others
  to_end.wake_all();
  wait_until_all_have_stopped(s, patience_ns);
  if (!all_ms_have_stopped(s)) wait_for_ms_inside(s);
  std::int32_t const asleep = s.ms.count_stopped();
  int const left = s.end.threads_left();
  Sched::threads_asleep_for_good.fetch_add(asleep, relaxed);
  // A thread that is nearly always in the C library may not have been met outside of it in time.
  bool const can_be_met = s.options.async_preemption && !malloc_cannot_be_told(s);
  if (left != asleep && can_be_met) {
    for_each_thread(s, nullptr, [](M& m) noexcept { os::keep_sending_pause_signals(hint_of(m.tid)); });
  }
  std::int64_t const until_ns = os::monotonic_ns() + patience_ns;
  for (M& m : s.ms.all()) {
    if (!m.thread_exists.load(acquire)) continue;  // pairs with start_thread
    if (left == 0) {
      join_or_detach(m, until_ns);
    } else {
      os::detach_thread(m.thread);
    }
  }
  return {left, left == asleep};
}

}  // namespace thrum::rt
