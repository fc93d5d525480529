#include "sched/own_thread.h"

#include "base/check.h"
#include "core/current.h"
#include "core/trace.h"
#include "os/chaos.h"
#include "os/futex.h"
#include "sched/deadlock.h"
#include "sched/exit_stage.h"
#include "sched/runnable.h"
#include "sched/switch.h"
#include "sched/threads.h"
#include "sched/timekeeper.h"

namespace thrum::rt {
namespace {

// Sleeps until the goroutine was readied and another thread has given m a P. False: the run is over.
bool sleep_in_place(M& m) noexcept {
  Sched& s = m.sched;
  bool is_over = false;
  {
    os::lock_guard const guard(s.lock);
    // The goroutine may have been readied before its thread sleeps. Then m has a P, or is about to get one.
    bool const has_its_turn = m.status == m_status::resuming || m.next_p != nullptr;
    // no other thread tells m, because m was not asleep when the run ended
    is_over = s.end.has_begun() && !has_its_turn;
    if (is_over) {
      s.ms.dismiss(m);
    } else if (!has_its_turn) {
      s.ms.sleep_in_place(m);
      check_deadlock_locked(s);
    }
  }
  os::chaos_point("own_thread.rests");
  if (is_over) return false;
  m.wake_note.sleep();
  m.wake_note.clear();
  os::chaos_point("own_thread.woken");
  if (m.is_to_end()) return false;
  acquire_p(m, *m.next_p);
  return true;
}

}  // namespace

void give_up_own_thread(M& m) noexcept {
  Sched& s = m.sched;
  s.lock.acquire();
  s.ms.let_go(m);  // first, because its P may need a new thread
  hand_off_locked(s, release_p(m));
}

M& suspend_in_place(M& m, commit_step commit, void* argument) noexcept {
  G& g = *m.current;
  if (goes_on_exiting(m)) return m;
  check_stack_pointer(g);
  auto const mine = goroutine_globals::saved_from(m.globals);
  struct {
    M& m;
    commit_step commit;
    void* argument;
    bool goes_on;
  } rest{m, commit, argument, false};
  // A thread that writes a dump finds the goroutine's frames by its saved context, as soon as the goroutine's state is
  // `waiting`.
  call_with_context(
      g.saved,
      [](void* its) noexcept {
        auto& of = *static_cast<decltype(rest)*>(its);
        of.commit(of.m, *of.m.current, of.argument);
        os::chaos_point("own_thread.committed");
        // Not in one turn of the lock with sleep_in_place: hand_off may have to start an M after it has released the
        // lock. Until then m counts as awake, or a check for deadlocks would find all Ms asleep beside work.
        hand_off(of.m.sched, release_p(of.m));
        do_pending_watch_check(of.m);
        of.goes_on = sleep_in_place(of.m);
      },
      &rest);
  if (!rest.goes_on) leave_goroutine_behind(m);
  g.await_scan();
  g.transition(g_status::runnable, g_status::running);
  trace::started(m, g, trace::start_detail::on_own_thread);
  mine.restore_to(m.globals);
  stay_announced(m, g);
  return m;
}

void queue_on_own_thread(global_publication& locked, M& m, g_status from, m_status as) noexcept {
  G& g = *m.current;
  m.sched.ms.queue(m, as);
  g.only_m = &m;
  g.saved.pc = nullptr;  // the context is not valid until sleep_in_frames_until_p has saved it
  g.transition(from, g_status::runnable);
  if (from == g_status::running) {
    trace::yields(m, g, trace::yield_detail::paused);
  } else {
    trace::comes_back(m, g, trace::return_detail::without_p);
  }
  locked.put_on_own_thread(g);
}

bool sleep_in_frames_until_p(M& m) noexcept {
  call_with_context(
      m.current->saved, [](void* its) noexcept { static_cast<M*>(its)->wake_note.sleep(); }, &m);
  m.wake_note.clear();
  if (m.is_to_end()) return false;
  G& g = *m.current;
  acquire_p(m, *m.next_p);
  if (!g.keeps_its_m()) g.only_m = nullptr;
  g.transition(g_status::runnable, g_status::running);
  trace::started(m, g, trace::start_detail::on_own_thread);
  return true;
}

void leave_goroutine_behind(M& m) noexcept {
  if (m.is_foreign) os::sleep_for_good();
  static_cast<void>(suspend_to_g0(
      m, [](M&, G&, void*) noexcept {}, nullptr));
  fatal("internal error: a goroutine that its run has left behind went on");
}

}  // namespace thrum::rt
