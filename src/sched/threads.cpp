#include "sched/threads.h"

#include "base/check.h"
#include "core/current.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/signal.h"
#include "sched/deadlock.h"
#include "sched/safe_point.h"
#include "sched/schedule.h"
#include "sched/stack_wait.h"
#include "sched/thread_maker.h"
#include "sched/timekeeper.h"
#include "sched/wake.h"

#include <cerrno>
#include <cstdio>

namespace thrum::rt {
namespace {

void* m_main(void* argument) {
  M& m = *static_cast<M*>(argument);
  char name[16];
  std::snprintf(name, sizeof name, "thrum-m%d", m.id);
  os::set_thread_name(name);
  os::set_timer_slack_ns(1);  // it may be the one that keeps the time
  m.sched.callers_signals.apply();
  if (int const error = adopt_thread(m)) {
    fatal("no signal stack for a new thread (errno=%d): stack overflows could not be reported", error);
  }
  acquire_p(m, *m.next_p);
  schedule_until_end(m);
  if (m.p != nullptr) retire_p(m);
  Sched& s = m.sched;
  release_thread(m);
  s.ms_running.fetch_sub(1, acq_rel);  // pairs with end_all_ms's acquire: after this the thread touches nothing of s
  return nullptr;
}

// A new M, known to sched but without a thread. Under sched.lock: the limit and the list are one decision.
M* new_m_locked(Sched& s) noexcept {
  if (s.ms_total >= s.options.threads_max) {
    fatal("program exceeds %d-thread limit (options::max_threads)", s.options.threads_max);
  }
  M* const m = s.m_slab.make(s, s.ms_made++);
  if (m == nullptr) fatal("failed to create new OS thread (have %d already; errno=%d): no memory", s.ms_total, ENOMEM);
  ++s.ms_total;
  m->all_link = s.all_ms;
  s.all_ms = m;
  return m;
}

}  // namespace

void start_thread(Sched& s, M& m) noexcept {
  s.ms_running.fetch_add(1, relaxed);  // before the thread can end; ordered by its creation
  int const error = os::create_thread(m.thread, m_main, &m);
  if (error == 0) {
    m.thread_exists.store(true, release);  // pairs with end_all_ms: the handle is written
    return;
  }
  print_error("thrum: failed to create new OS thread (have %d already; errno=%d)", s.ms_running.load(relaxed), error);
  if (error == EAGAIN) print_error("thrum: may need to increase max user processes (ulimit -u)");
  die();
}

namespace {

// With sched.lock held; releases it. m sleeps in the idle list.
void rest_until_started(M& m) noexcept {
  Sched& s = m.sched;
  m.idle_link = s.idle_m_list;
  s.idle_m_list = &m;
  ++s.ms_idle;
  rouse_timekeeper_without_timers(s);
  check_deadlock_locked(s);
  s.lock.release();
  m.park.sleep();
  m.park.clear();
}

}  // namespace

void start_m_locked(Sched& s, P& p, start_as how) noexcept {
  s.lock.assert_held();
  M* m = s.idle_m_list;
  bool fresh = false;
  bool sleeps = true;
  if (m != nullptr) {
    s.idle_m_list = m->idle_link;
    m->idle_link = nullptr;
    --s.ms_idle;
  } else if (s.timekeeper != nullptr) {
    m = s.timekeeper;
    sleeps = relieve_timekeeper(s);
  } else {
    m = new_m_locked(s);
    fresh = true;
    m->idle_link = s.unborn_ms;
    s.unborn_ms = m;
  }
  m->next_p = &p;
  m->spinning = how == start_as::spinning;
  s.lock.release();
  if (fresh) {
    ring_thread_maker(s);
  } else if (sleeps) {
    m->park.wake();
  }
}

void hand_off(Sched& s, P& p) noexcept {
  s.lock.acquire();
  p.m = nullptr;
  if (!s.stopping && (!p.queue.looks_empty() || s.global_size.load(relaxed) != 0)) {
    start_m_locked(s, p, start_as::working);
    static_cast<void>(see_that_timers_are_watched(s));
    return;
  }
  // Nobody is idle and nobody searches: work may turn up that only this P could take.
  if (std::int32_t none = 0; !s.stopping && s.idle_procs.load(relaxed) == 0 && s.options.procs > 1 &&
                             s.spinning.compare_exchange(none, 1, seq_cst, relaxed)) {
    start_m_locked(s, p, start_as::spinning);
    return;
  }
  attend_to(p);
  if ((p.attention.load(relaxed) & attend::give_up_stacks) != 0) {
    s.lock.release();
    give_up_cached_stacks(p);
    hand_off(s, p);
    return;
  }
  put_idle_p(s, p);
  if (!work_anywhere(s)) check_deadlock_locked(s);
  rouse_timekeeper_without_timers(s);
  s.lock.release();
  store_load_fence();
  if (work_anywhere(s)) wake_if_idle(s);
  static_cast<void>(see_that_timers_are_watched(s));
}

bool stop_m(M& m) noexcept {
  THRUM_DCHECK(m.p == nullptr && !m.spinning);
  Sched& s = m.sched;
  for (;;) {
    s.lock.acquire();
    if (s.stopping || m.next_p != nullptr) break;
    std::int64_t const until_ns = take_the_watch(s, m);
    if (until_ns == never_ns) {
      rest_until_started(m);
      if (m.must_end) return false;
      acquire_p(m, *m.next_p);
      return true;
    }
    s.lock.release();
    if (keep_time(m, until_ns) == watch_ends::with_p) return true;
  }
  s.lock.release();
  if (m.next_p == nullptr) return false;
  acquire_p(m, *m.next_p);
  m.owes_watch = true;  // it was the timekeeper when it was taken
  return true;
}

void acquire_p(M& m, P& p) noexcept {
  THRUM_DCHECK(m.p == nullptr && p.m == nullptr);
  m.p = &p;
  p.m = &m;
  m.next_p = nullptr;
}

void retire_p(M& m) noexcept {
  Sched& s = m.sched;
  P& p = *m.p;
  m.p = nullptr;
  os::lock_guard const guard(s.lock);
  attend_to(p);
  put_idle_p(s, p);
}

int adopt_thread(M& m) noexcept {
  m.tid = os::current_tid();
  m.globals = thread_globals::of_this_thread();
  auto const bounds = os::current_thread_stack();
  adopt_thread_stack(m.g0, bounds.low, bounds.high);
  auto const signal_stack = os::map(os::alt_stack_bytes());
  if (signal_stack.address == nullptr) return signal_stack.error;
  if (int const error = os::install_alt_stack(signal_stack.address, os::alt_stack_bytes())) {
    os::unmap(signal_stack.address, os::alt_stack_bytes());
    return error;
  }
  m.signal_stack = signal_stack.address;
  set_current_m(&m);
  return 0;
}

void release_thread(M& m) noexcept {
  set_current_m(nullptr);
  os::remove_alt_stack();
  os::unmap(m.signal_stack, os::alt_stack_bytes());
  m.signal_stack = nullptr;
}

namespace {

// Under sched.lock: threads that wait for their goroutine's turn sleep in no list. They are put in front of this one.
M* with_threads_of_locked_entries(Sched& s, M* list) noexcept {
  for (std::uint32_t left = s.global_queue.size(); left > 0; --left) {
    entry const e = entry::from_bits(s.global_queue.pop());
    if (!e.is_locked()) {
      s.global_queue.push(e.bits());
      continue;
    }
    M* const its = e.g()->locked_to;
    its->idle_link = list;
    list = its;
  }
  s.global_size.store(s.global_queue.size(), relaxed);  // smaller: nobody waits for that
  return list;
}

}  // namespace

int end_all_ms(Sched& s, std::int64_t patience_ns) noexcept {
  s.lock.acquire();
  s.stopping = true;
  for (auto const& p : s.procs) p->attention.fetch_or(attend::stopping, relaxed);  // seen at the next safe point
  for (auto const& p : s.procs) {
    if (!p->take_from_syscall()) continue;  // whoever returns from a call finds it gone
    attend_to(*p);
    put_idle_p(s, *p);
  }
  M* idle = s.idle_m_list;
  s.idle_m_list = nullptr;
  if (M* const keeper = s.timekeeper; keeper != nullptr && relieve_timekeeper(s)) {
    keeper->idle_link = idle;
    idle = keeper;
  }
  idle = with_threads_of_locked_entries(s, idle);
  s.lock.release();
  while (idle != nullptr) {
    M* const next = idle->idle_link;
    idle->must_end = true;
    idle->park.wake();
    idle = next;
  }
  std::int64_t const until_ns = os::monotonic_ns() + patience_ns;
  while (s.ms_running.load(acquire) != 0 && os::monotonic_ns() < until_ns) os::yield_thread();
  int const still_running = s.ms_running.load(acquire);
  for (M* m = s.all_ms; m != nullptr; m = m->all_link) {
    if (!m->thread_exists.load(acquire)) continue;
    if (still_running == 0) {
      os::join_thread(m->thread);
    } else {
      os::detach_thread(m->thread);
    }
  }
  return still_running;
}

}  // namespace thrum::rt
