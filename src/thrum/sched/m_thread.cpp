#include "sched/m_thread.h"

#include "base/check.h"
#include "core/current.h"
#include "os/futex.h"
#include "os/memory.h"
#include "os/signal.h"
#include "os/thread.h"
#include "sched/deadlock.h"
#include "sched/exit_stage.h"
#include "sched/resting_ms.h"
#include "sched/schedule.h"
#include "sched/threads.h"

#include <cerrno>
#include <cstdio>

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
  s.thread_maker.notify();
}

// m begins with the P that it was made for. If there is none, or it was taken back, m rests, and does so without a gap,
// because at the limit of threads it may be the only M that can be had. False: m ends.
bool begin(M& m) noexcept {
  Sched& s = m.sched;
  enter_runtime(m);
  s.lock.acquire();
  s.ms.has_started(m);
  if (m.next_p == nullptr) return rest_until_p_locked(m);
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
    fatal(
        "cannot set up the signal stack of a new thread (errno=%d), without which a stack overflow could not be "
        "reported",
        error);
  }
  if (begin(m)) schedule_until_end(m);
  check_that_exit_does_not_wait(m);
  if (m.p != nullptr) retire_p(m);
  Sched& s = m.sched;
  bool const is_let_go = m.status == m_status::let_go;
  // If it is missed, the thread ends at that very moment and destroys its thread-locals, as threads do.
  bool const program_exits = s.end.exiting_m() != nullptr;
  release_thread(m);
  m.in_runtime.store(false, relaxed);  // destructors of thread-locals run outside; read by end_all_ms
  if (is_let_go && !program_exits) leave_record(m);
  s.end.thread_ends();
  if (program_exits) os::sleep_for_good();
  return nullptr;
}

// Keeps the record for another thread, because its thread could not be made or has ended.
void keep_record_locked(Sched& s, M& m) noexcept {
  s.ms.keep(m);
  check_deadlock_locked(s);  // until here m counted as an M that does not rest, or its thread as an unknown thread
}

// Returns 0 or the errno. The signal stack is mapped here, so that a spare thread without memory for it counts as one
// that cannot be made.
int try_to_start_thread(Sched& s, M& m) noexcept {
  if (int const error = map_signal_stack(m.signal_stack)) return error;
  s.end.thread_is_made();  // before the thread can end
  int const error = os::create_thread(m.thread, m_main, &m);
  if (error == 0) {
    m.thread_exists.store(true, release);  // pairs with end_all_ms: the handle is written
  } else {
    s.end.thread_was_not_made();
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

}  // namespace

void start_spare_thread(Sched& s) noexcept {
  s.lock.acquire();
  M* const spare = start_spare_locked(s);
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
  os::lock_guard const guard(s.lock);
  keep_record_locked(s, m);
  return true;
}

void start_thread(Sched& s, M& m) noexcept {
  int const error = try_to_start_thread(s, m);
  if (error == 0 || is_no_longer_needed(s, m)) return;
  print_error("thrum: failed to create new OS thread (have %d already; errno=%d)", s.end.threads_left() + 1, error);
  if (error == EAGAIN) print_error("thrum: may need to increase max user processes (ulimit -u)");
  die();
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
