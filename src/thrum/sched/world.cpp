#include "sched/world.h"

#include "base/check.h"
#include "core/claims.h"
#include "core/trace.h"
#include "os/chaos.h"
#include "os/clock.h"
#include "os/short_wait.h"
#include "sched/deadlock.h"
#include "sched/exit_stage.h"
#include "sched/own_thread.h"
#include "sched/park.h"
#include "sched/requests.h"
#include "sched/resting_ms.h"
#include "sched/runnable.h"
#include "sched/stack_wait.h"
#include "sched/threads.h"
#include "sched/wake.h"
#include "sched/watch.h"

#include <algorithm>
#include <span>
#include <utility>

namespace thrum::rt {
namespace {

void ask_all_to_stop_locked(Sched& s, P const* own) noexcept {
  s.world.begin(s.procs.size() + (own == nullptr ? 1 : 0));  // one too many, until all were asked
  for (P* const p : s.procs) {
    if (p != own) p->attention.fetch_or(attend::stop_world, relaxed);  // relaxed: seen at the next safe point
  }
  while (P* const p = s.idle.take()) THRUM_CHECK(stop_if_asked_locked(s, *p));
  for (M& m : s.ms.all()) {
    if (P* const p = take_back_from_starting_locked(m)) THRUM_CHECK(stop_if_asked_locked(s, *p));
  }
  s.world.one_has_stopped();
}

// A P whose M is just entering or leaving a system call is left to sysmon.
void stop_ps_in_system_calls(Sched& s) noexcept {
  take_from_calls(s.procs, [&](P& p) { hand_off(s, p); });
}

// m's goroutine waits on its own thread until the world runs again.
void wait_in_place(M& m) noexcept {
  Sched& s = m.sched;
  bool stops = false;
  {
    global_publication locked(s);
    stops = is_to_stop(*m.p);
    if (stops) {
      static_cast<void>(stop_if_asked_locked(s, release_p(m)));
      queue_on_own_thread(locked, m, g_status::running, m_status::queued);
    }
  }
  if (stops && !sleep_in_frames_until_p(m)) leave_goroutine_behind(m);
}

// Under sched.lock: starts p. If p has work, it is put in front of the list with_work. Returns the list.
P* start_locked(Sched& s, P& p, P* with_work) noexcept {
  p.attention.fetch_and(~attend::stop_world, relaxed);
  if (p.status.load(relaxed) != p_status::stopped) return with_work;  // the P of the caller
  p.transition(p_status::stopped, p_status::running);
  bool const owes_stacks = (p.attention.load(relaxed) & attend::give_up_stacks) != 0;
  if (p.queue.looks_empty() && !owes_stacks) {
    s.idle.put(p);
    return with_work;
  }
  p.idle_link = with_work;
  return &p;
}

}  // namespace

stopped_world::stopped_world(M& m) noexcept : sched_(m.sched), began_ns_(os::monotonic_ns()) {
  Sched& s = m.sched;
  acquire_world(m);
  trace::world_changes(s, trace::kind::stop_world);
  s.lock.acquire();
  ask_all_to_stop_locked(s, m.p);
  s.lock.release();
  os::chaos_point("world.asked");
  stop_ps_in_system_calls(s);
  if (!s.world.all_have_stopped().is_woken()) s.sysmon.notify();
  wait_for_other_ps(m, s.world.all_have_stopped());
  s.world.stopping_took.add(os::monotonic_ns() - began_ns_);
  trace::world_changes(s, trace::kind::world_stopped);
}

namespace {

// On a thread that is no M. Returns false if another thread has had the right for all of the time.
bool take_world_before_all_ms(Sched& s, std::int64_t patience_ns) noexcept {
  std::int64_t const until_ns = os::monotonic_ns() + patience_ns;
  s.world.outsider_waits();
  bool const is_taken = os::wait_until([&] { return s.world.try_to_take(); }, until_ns);
  s.world.outsider_waits_no_more();
  return is_taken;
}

}  // namespace

stopped_world::stopped_world(Sched& s, std::int64_t patience_ns) noexcept
    : sched_(s),
      began_ns_(os::monotonic_ns()),
      holds_lock_(take_world_before_all_ms(s, patience_ns)),
      is_complete_(false) {
  if (!holds_lock_) return;
  std::int64_t const until_ns = os::monotonic_ns() + patience_ns;
  trace::world_changes(s, trace::kind::stop_world);
  s.lock.acquire();
  ask_all_to_stop_locked(s, nullptr);
  s.lock.release();
  stop_ps_in_system_calls(s);
  s.sysmon.notify();
  is_complete_ = s.world.all_have_stopped().sleep_until(until_ns);
  if (is_complete_) trace::world_changes(s, trace::kind::world_stopped);
}

stopped_world::~stopped_world() {
  if (!holds_lock_) return;
  Sched& s = sched_;
  trace::happened(s, trace::kind::start_world, static_cast<std::uint64_t>(s.procs.size()));
  P* with_work = nullptr;
  std::uint32_t in_global = 0;
  {
    os::lock_guard const guard(s.lock);
    for (P* const p : s.procs) with_work = start_locked(s, *p, with_work);
    in_global = s.global_queue.size();
  }
  while (with_work != nullptr) {
    P& p = *std::exchange(with_work, with_work->idle_link);
    p.idle_link = nullptr;
    s.lock.acquire();
    if (may_start_m_locked(s)) {
      start_m_locked(s, p, start_as::working);
    } else {
      s.idle.put(p);
      s.lock.release();
    }
  }
  s.world.stopped_for.add(os::monotonic_ns() - began_ns_);
  s.world.give_back();
  auto const idle = static_cast<std::uint32_t>(std::max(0, s.idle.count()));
  for (std::uint32_t i = 0; i < std::min(in_global, idle); ++i) start_working_m(s);
  start_m_if_work_is_left(s);  // goroutines that were stopped were queued, and others may have become runnable
  static_cast<void>(ensure_all_is_watched(s));
  // removed Ps have left their stacks to the pool
  if (s.stack_waiters.any()) start_stack_waiters(s);
  os::lock_guard const guard(s.lock);
  s.world.has_restarted();
  rouse_timekeeper_without_task(s);  // an M that gave up a P which was to stop did neither of these two checks
  check_deadlock_locked(s);
}

bool keep_world_running(Sched& s, std::int64_t patience_ns) noexcept {
  s.world.forbid();
  return os::wait_until([&] { return s.world.try_to_take(); }, os::monotonic_ns() + patience_ns);
}

bool stop_on_g0(M& m) noexcept {
  Sched& s = m.sched;
  if (m.spinning) {
    m.spins_since_ns = 0;  // the little time that it has searched is not counted
    s.idle.end_spin(m);
    trace::has_spun(m, trace::spin_detail::in_vain);
  }
  s.lock.acquire();
  if (!is_to_stop(*m.p)) {
    s.lock.release();
    return true;  // the world runs again
  }
  static_cast<void>(stop_if_asked_locked(s, release_p(m)));
  // without a gap, because the thread that starts the world may have no other thread for the P
  return rest_until_p_locked(m);
}

// A thread that has to wait for another one is at a safe point itself.
void acquire_world(M& m) noexcept {
  Sched& s = m.sched;
  os::short_wait wait;
  while (s.world.is_for_outsiders() || !s.world.try_to_take()) {
    if ((m.p->attention.load(relaxed) & attend::stopping) != 0) sleep_for_good(m);
    run_requested_function(*m.p);
    if (is_to_stop(*m.p)) {
      wait_in_place(m);
    } else {
      wait.pause();
    }
  }
}

// --- the number of Ps ---

namespace {

// The record has no entry in any heap, because the caller has taken it out.
void move_record(timer_record& r, p_timers& to, std::uint32_t epoch) noexcept {
  {
    os::lock_guard const guard(r.lock);
    if (r.armed_in == epoch && r.in.load(acquire) == nullptr)
      static_cast<void>(to.add(r));  // otherwise it was stopped, or set anew
  }
  drop_reference(r);
}

// The heap is put in order entry by entry. Ordering it once at the end takes as long, because an entry seldom rises
// far. Most of the time goes into the records and their locks.
void move_timers(Sched const& s, p_timers& from, p_timers& to) noexcept {
  constexpr std::uint32_t at_once = 64;
  timer_entry taken[at_once];
  while (std::uint32_t const count = from.take_any_of(taken, at_once)) {
    for (timer_entry const& e : std::span(taken, count)) {
      if (e.is_record()) {
        move_record(e.record(), to, s.epoch);
      } else {
        static_cast<void>(to.add(e.sleeper(), e.when_ns));
      }
    }
  }
}

void empty(P& p, P& heir) noexcept {
  Sched& s = p.sched;
  {
    os::lock_guard const guard(s.lock);
    move_queue_to_global_locked(p);
  }
  move_timers(s, p.timers, heir.timers);
  give_up_records(p);
  p.stacks.flush(s.stacks);
}

// m changes to the P `to`, which is stopped. Its own P is stopped.
void change_p(M& m, P& to) noexcept {
  P& from = release_p(m);
  from.m = nullptr;
  from.transition(p_status::running, p_status::stopped);
  to.transition(p_status::stopped, p_status::running);
  acquire_p(m, to);
}

}  // namespace

fresh_procs make_procs(Sched& s, int count) {
  fresh_procs made;
  for (int id = static_cast<int>(s.procs.all().size()); id < count; ++id) made.push_back(s.make_proc(id));
  return made;
}

namespace {

// `caller` has a P, which is `heir` or is removed; or it is nullptr.
bool resize_for(M* caller, P& heir, int count, fresh_procs& fresh) noexcept {
  Sched& s = heir.sched;
  int const before = s.procs.size();
  std::uint32_t timers = 0;
  for (int i = count; i < before; ++i) timers += s.procs[static_cast<std::size_t>(i)]->timers.count().entries;
  if (!heir.timers.reserve(timers)) return false;
  for (auto& p : fresh) {
    // Another thread may have made some of them meanwhile.
    if (p->id == static_cast<int>(s.procs.all().size())) s.procs.add(*p.release());
  }
  if (caller != nullptr && caller->p != &heir) change_p(*caller, heir);
  for (int i = before; i < count; ++i) {
    P& p = *s.procs[static_cast<std::size_t>(i)];
    if (p.status.load(relaxed) == p_status::dead) p.transition(p_status::dead, p_status::stopped);
  }
  for (int i = before - 1; i >= count; --i) {  // in this order the first of them is at the head of the global queue
    P& p = *s.procs[static_cast<std::size_t>(i)];
    empty(p, heir);
    p.attention.fetch_and(~attend::stop_world, relaxed);
    p.transition(p_status::stopped, p_status::dead);
  }
  s.use_procs(count);
  return true;
}

}  // namespace

bool resize(M& m, int count, fresh_procs& fresh) noexcept {
  return resize_for(&m, m.p->id < count ? *m.p : *m.sched.procs[0], count, fresh);
}

bool resize(Sched& s, int count, fresh_procs& fresh) noexcept { return resize_for(nullptr, *s.procs[0], count, fresh); }

}  // namespace thrum::rt
