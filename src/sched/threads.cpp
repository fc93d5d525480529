#include "sched/threads.h"

#include "base/check.h"
#include "core/current.h"
#include "os/chaos.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/memory.h"
#include "os/signal.h"
#include "sched/deadlock.h"
#include "sched/exit_stage.h"
#include "sched/home.h"
#include "sched/queues.h"
#include "sched/runnable.h"
#include "sched/safe_point.h"
#include "sched/schedule.h"
#include "sched/stack_wait.h"
#include "sched/thread_maker.h"
#include "sched/timekeeper.h"
#include "sched/wake.h"
#include "sched/world.h"

#include <cerrno>
#include <cstdio>
#include <utility>

namespace thrum::rt {
namespace {

// Leaves m to the thread maker, which joins the thread and keeps the record for another thread. The calling thread does
// not touch the record after this.
void leave_record(M& m) noexcept {
  THRUM_DCHECK(m.next_p == nullptr && !m.spinning);
  Sched& s = m.sched;
  {
    os::lock_guard const guard(s.lock);
    s.ms.note_end(m);
  }
  ring_thread_maker(s);
}

// m begins with the P that it was made for. If there is none, or it was taken back, m rests, and does so without a gap,
// because at the limit of threads it may be the only M that can be had. False: m ends.
bool begin(M& m) noexcept {
  Sched& s = m.sched;
  enter(m);
  s.lock.acquire();
  s.ms.has_started(m);
  if (m.next_p == nullptr) return stop_m_locked(m);
  s.lock.release();
  acquire_p(m, *m.next_p);
  return true;
}

void* m_main(void* argument) {
  M& m = *static_cast<M*>(argument);
  char name[16];
  std::snprintf(name, sizeof name, "thrum-m%d", m.id);
  os::set_thread_name(name);
  os::set_timer_slack_ns(1);  // m may become the timekeeper
  m.sched.ms_signals.apply();
  if (int const error = adopt_thread(m)) {
    fatal("no signal stack for a new thread (errno=%d): stack overflows could not be reported", error);
  }
  if (begin(m)) schedule_until_end(m);
  check_that_exit_does_not_wait(m);
  if (m.p != nullptr) retire_p(m);
  Sched& s = m.sched;
  bool const is_let_go = m.status == m_status::let_go;
  // relaxed: if it is missed, the thread ends at that very moment and destroys its thread-locals, as threads do
  bool const program_exits = s.exits_on.load(relaxed) != nullptr;
  release_thread(m);
  m.in_runtime.store(false, relaxed);  // destructors of thread-locals run outside; read by end_all_ms
  if (is_let_go && !program_exits) leave_record(m);
  s.ms_running.fetch_sub(1, acq_rel);  // pairs with end_all_ms's acquire: after this the thread touches nothing of s
  if (program_exits) os::sleep_for_good();
  return nullptr;
}

bool may_make_thread_locked(Sched const& s) noexcept { return s.ms.total() < s.threads_max.load(relaxed); }

}  // namespace

// Takes an M whose thread is being made without a P (the P was taken back, or it is a spare thread), else a new M.
M& starting_m_locked(Sched& s) noexcept {
  if (M* const m = s.ms.take_starting_without_p()) return *m;
  if (!may_make_thread_locked(s)) {
    fatal("program exceeds %d-thread limit (options::max_threads, set_max_threads)", s.threads_max.load(relaxed));
  }
  M* const m = s.ms.start(s, m_status::starting);
  if (m == nullptr) {
    fatal("failed to create new OS thread (have %d already; errno=%d): no memory", s.ms.total(), ENOMEM);
  }
  s.ms.order(*m);
  return *m;
}

namespace {

// Keeps the record for another thread, because its thread could not be made or has ended.
void keep_record_locked(Sched& s, M& m) noexcept {
  s.ms.keep(m);
  check_deadlock_locked(s);  // until here m counted as an M that does not rest, or its thread as an unknown thread
}

// Returns 0 or the errno. The signal stack is mapped here, so that a spare thread without memory for it counts as one
// that cannot be made.
int try_to_start_thread(Sched& s, M& m) noexcept {
  if (int const error = map_signal_stack(m.signal_stack)) return error;
  s.ms_running.fetch_add(1, relaxed);  // before the thread can end; ordered by the thread's creation
  int const error = os::create_thread(m.thread, m_main, &m);
  if (error == 0) {
    m.thread_exists.store(true, release);  // pairs with end_all_ms: the handle is written
  } else {
    s.ms_running.fetch_sub(1, relaxed);
    unmap_signal_stack(m.signal_stack);
  }
  return error;
}

// Whether m has no P, so that the thread which could not be made is not needed. The P was taken back, or m was to be a
// spare thread.
bool is_no_longer_needed(Sched& s, M& m) noexcept {
  os::lock_guard const guard(s.lock);
  if (m.next_p != nullptr) return false;
  keep_record_locked(s, m);
  return true;
}

bool is_one_short_locked(Sched const& s) noexcept {
  M const* m = s.ms.first_idle();
  while (m != nullptr && m->residents != 0) m = m->idle_link;
  return m == nullptr && s.ms.count(m_status::starting_without_p) == 0 && !s.stopping;
}

}  // namespace

bool order_spare_locked(Sched& s, std::int32_t more) noexcept {
  bool const may_be_more = s.may_be_paused(more) && s.ms.total() + more <= s.threads_max.load(relaxed);
  if (s.wants_spare || !is_one_short_locked(s) || !may_be_more) return false;
  s.wants_spare = true;
  return true;
}

void see_that_one_is_spare(Sched& s) noexcept {
  s.lock.acquire();
  // 2: the last thread within the limit is kept for an M that is needed at once
  bool const is_ordered = order_spare_locked(s, 2);
  s.lock.release();
  if (is_ordered) ring_thread_maker(s);
}

void start_spare_thread(Sched& s) noexcept {
  s.lock.acquire();
  bool const is_wanted = is_one_short_locked(s) && may_make_thread_locked(s);
  M* const spare = is_wanted ? s.ms.start(s, m_status::starting_without_p) : nullptr;
  s.lock.release();
  if (spare != nullptr) start_thread(s, *spare);
}

bool join_ended_thread(Sched& s, M& m, bool gives_up) noexcept {
  if (!os::join_thread_if_ended(m.thread, m.tid)) {
    if (!gives_up) return false;
    os::detach_thread(m.thread);
  }
  m.thread_exists.store(false, relaxed);  // relaxed: end_all_ms comes after the end of the thread maker
  m.tid = 0;
  m.ends_with_goroutine = false;
  m.stands_in = false;
  m.leaves = m.usual_leaving();
  os::lock_guard const guard(s.lock);
  keep_record_locked(s, m);
  return true;
}

void start_thread(Sched& s, M& m) noexcept {
  int const error = try_to_start_thread(s, m);
  if (error == 0 || is_no_longer_needed(s, m)) return;
  print_error("thrum: failed to create new OS thread (have %d already; errno=%d)", s.ms_running.load(relaxed) + 1,
              error);
  if (error == EAGAIN) print_error("thrum: may need to increase max user processes (ulimit -u)");
  die();
}

namespace {

// Called with sched.lock held; releases it. m sleeps in the idle list.
void rest_until_started(M& m) noexcept {
  Sched& s = m.sched;
  s.ms.rest(m, os::monotonic_ns());
  rouse_timekeeper_in_vain(s);
  check_deadlock_locked(s);
  s.lock.release();
  os::chaos_point("threads.rests");
  m.park.sleep();
  m.park.clear();
  m.busy_since_ns = 0;
}

}  // namespace

bool take_from_rest_locked(M& m) noexcept {
  Sched& s = m.sched;
  s.lock.assert_held();
  withdraw_call(s, m);
  return m.status == m_status::idle ? s.ms.take(m) : relieve_timekeeper(s);
}

// A called M comes first because it has work. If it gets this P, no other M need pass a P on to it.
resting_m take_resting_m_locked(Sched& s) noexcept {
  s.lock.assert_held();
  M* m = s.global_queue.first_called();
  if (m == nullptr) m = s.ms.first_idle();
  if (m == nullptr) m = s.ms.timekeeper();
  return m != nullptr ? resting_m{m, take_from_rest_locked(*m)} : resting_m{};
}

bool may_have_starting_m_locked(Sched const& s) noexcept {
  return s.ms.count(m_status::starting_without_p) != 0 || may_make_thread_locked(s);
}

bool a_thread_can_be_had_locked(Sched const& s) noexcept {
  return s.ms.without_work() != 0 || may_have_starting_m_locked(s) || s.global_queue.has_ms();
}

bool may_start_m_locked(Sched const& s) noexcept {
  std::int32_t const preempted = s.ms.paused() + s.ms_without_p.load(relaxed);
  bool const others_will_come = preempted != 0 && preempted >= s.idle_procs.load(relaxed);
  return !s.stopping && (a_thread_can_be_had_locked(s) || !others_will_come);
}

namespace {

// Under sched.lock, if no M rests: chooses the thread that sleeps in a goroutine's frames and is to get the next P.
// nullptr: an M whose thread is being made may get it.
//
// Making a thread needs locks of the C library. A goroutine that was paused while it held such a lock must go on, and
// if all Ps went to Ms without a thread it never would. So its turn, or that of others before it, comes first. The place where a
// goroutine was paused does not tell whether it holds such a lock: the loader calls functions of the program with its
// locks held, and a thread that holds a lock which thread creation needs may wait for one of the loader's.
M* whose_turn_comes_first_locked(Sched& s) noexcept {
  return s.ms.paused() != 0 || !may_have_starting_m_locked(s) ? take_oldest_locked(s) : nullptr;
}

// Called with sched.lock held; releases it.
void give_p_before_its_turn(Sched& s, P& p, M& m, start_as how) noexcept {
  if (how == start_as::spinning) s.spinning.fetch_sub(1, seq_cst);  // under the lock: see wake.h
  bool const orders_spare = may_make_thread_locked(s);
  s.wants_spare = s.wants_spare || orders_spare;
  s.lock.release();
  give_p(m, p);
  if (orders_spare) ring_thread_maker(s);
  if (how == start_as::working) return;
  // Other threads may have relied on the M that was to search, for work, for timers and for the poller.
  wake_if_work_is_left(s);
  static_cast<void>(see_that_all_is_watched(s));
}

}  // namespace

void start_m_locked(Sched& s, P& p, start_as how) noexcept {
  resting_m const rested = take_resting_m_locked(s);
  if (rested.m == nullptr) {
    if (M* const has_thread = whose_turn_comes_first_locked(s)) {
      give_p_before_its_turn(s, p, *has_thread, how);
      return;
    }
    attend_to(p);  // it may take long until its thread exists
  }
  M& m = rested.m != nullptr ? *rested.m : starting_m_locked(s);
  m.next_p = &p;
  m.spinning = how == start_as::spinning;
  if (m.spinning) m.owes_watch = true;  // a thread may rely on it for a timer: timekeeper.h
  s.lock.release();
  if (rested.m == nullptr) {
    ring_thread_maker(s);
  } else if (rested.sleeps) {
    m.park.wake();
  }
}

P* take_back_from_starting_locked(M& m) noexcept {
  m.sched.lock.assert_held();
  if (m.status != m_status::starting) return nullptr;
  if (std::exchange(m.spinning, false)) m.sched.spinning.fetch_sub(1, seq_cst);  // under the lock: see wake.h
  m.sched.ms.p_was_taken_back(m);
  if (G* const waits = std::exchange(m.brought, nullptr)) put_while_no_p_is_idle_locked(m.sched, *waits);
  stand_in_no_more(m);  // the thread that gives m another P may want it for other work
  return std::exchange(m.next_p, nullptr);
}

void give_p(M& m, P& p) noexcept {
  attend_to(p);  // user code may go on with p, without a safe point first
  p.m = nullptr;
  // The global queue has had its turn. Otherwise a called M would serve the global queue first, and give the P to the
  // next called M.
  p.tick();
  Sched& s = p.sched;
  {
    os::lock_guard const guard(s.lock);
    if (m.is_to_end()) {
      if (!stop_if_asked_locked(s, p)) put_idle_p(s, p);
      return;
    }
    s.ms.end_rest(m);
    m.next_p = &p;
    m.spinning = false;
  }
  os::chaos_point("threads.promised");
  m.park.wake();
}

void hand_off(Sched& s, P& p) noexcept {
  os::chaos_point("threads.hand_off");
  s.lock.acquire();
  p.m = nullptr;
  if (stop_if_asked_locked(s, p)) {
    s.lock.release();
    return;
  }
  bool const may_start = may_start_m_locked(s);
  if (may_start && (!p.queue.looks_empty() || s.global_size.load(relaxed) != 0)) {
    start_m_locked(s, p, start_as::working);
    static_cast<void>(see_that_all_is_watched(s));
    return;
  }
  // No P is idle and no M searches, so work may turn up that only this P could take.
  if (std::int32_t none = 0; may_start && s.idle_procs.load(relaxed) == 0 && s.procs.size() > 1 &&
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
  rouse_timekeeper_in_vain(s);
  s.lock.release();
  wake_if_work_is_left(s);
  static_cast<void>(see_that_all_is_watched(s));
}

bool stop_m(M& m) noexcept {
  m.sched.lock.acquire();
  return stop_m_locked(m);
}

bool stop_m_locked(M& m) noexcept {
  THRUM_DCHECK(m.p == nullptr && !m.spinning);
  Sched& s = m.sched;
  stand_in_no_more(m);
  for (;; s.lock.acquire()) {
    if (s.stopping || m.is_to_end() || m.next_p != nullptr) break;  // m may have been taken while it was the timekeeper
    if (takes_p_for_residents(s, m)) {
      s.lock.release();
      return true;
    }
    watch const its = take_the_watch(s, m);
    if (!its) {
      rest_until_started(m);
      if (m.is_to_end()) return false;
      acquire_p(m, *m.next_p);
      return true;
    }
    s.lock.release();
    if (keep_time(m, its) == watch_ends::with_p) return true;
  }
  s.lock.release();
  if (m.next_p == nullptr) return false;
  acquire_p(m, *m.next_p);
  m.owes_watch = true;  // m was the timekeeper when it was taken
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
  if (!stop_if_asked_locked(s, p)) put_idle_p(s, p);
}

int adopt_thread(M& m) noexcept {
  m.tid = os::current_tid();
  m.globals = thread_globals::of_this_thread();
  auto const bounds = os::current_thread_stack();
  adopt_thread_stack(m.g0, bounds.low, bounds.high);
  if (m.signal_stack.low == nullptr) {
    if (int const error = map_signal_stack(m.signal_stack)) return error;
  }
  if (int const error = os::install_alt_stack(m.signal_stack.low, os::alt_stack_bytes())) {
    unmap_signal_stack(m.signal_stack);
    return error;
  }
  set_current_m(&m);
  return 0;
}

void release_thread(M& m) noexcept {
  set_current_m(nullptr);
  os::remove_alt_stack();
  unmap_signal_stack(m.signal_stack);
}

}  // namespace thrum::rt
