#include "sched/deadlock.h"

#include "base/check.h"
#include "core/ender.h"
#include "os/thread.h"
#include "os/unknown_child.h"
#include "sched/queues.h"
#include "sched/watch.h"

namespace thrum::rt {
namespace {

// A thread that thrum did not make may yet call `go`, or release what the goroutines wait for (T13).
bool foreign_threads_exist(Sched const& s) noexcept {
  int const known = s.ms.total() + s.ms.foreign() + s.own_threads + Sched::threads_asleep_for_good.load(relaxed);
  int const threads = os::count_process_threads(known);
  return threads < 0 || threads > known;
}

// All Ms rest, so the counters of the Ps do not change.
bool goroutines_exist(Sched const& s) noexcept {
  std::uint64_t alive = 0;
  for (P const* const p : s.procs.all()) alive += p->counters.created.load(relaxed) - p->counters.ended.load(relaxed);
  return alive != 0;
}

// Called if all Ms rest, also that of the ender. If the ender belongs to an earlier run, no M of this run is its M. But
// then its thread has ended or sleeps for good, because otherwise it would be a thread that this run does not know
// (foreign_threads_exist). The report of the ender waits for no goroutine, so it is a function of the program that
// waits.
void end_for_waiting_ender() noexcept {
  way_to_end const how = how_program_ends();
  if (how.function == nullptr) return;  // the report is made on a thread that is no M at rest
  print_error("thrum: the %s waits, and no goroutine can wake it", how.function);
  end_in_place_of_ender();
}

// Whether all goroutines sleep, and no M, timer or event can wake one of them.
bool nothing_known_can_help(Sched& s) noexcept {
  // A P that is not idle is held by a thread that is no M at work, for example sysmon. That thread will hand it off,
  // and check.
  if (!s.idle.all_idle()) return false;
  if (s.world.is_under_way())
    return false;  // idle Ps will be started, and the thread that stopped the world will check
  if (s.deadlock.is_reported()) return false;  // the thread maker checks as well
  if (!s.ms.none_can_run_by_itself() || s.end.run_is_woken() || !s.options.detect_deadlock) return false;
  if (earliest_timer(s) != never_ns) return false;
  // an event may come; relaxed: a goroutine that waits was counted before, by the lock
  if (s.poll.waiters() != 0) return false;
  if (s.stack_waiters.any() && s.stack_waiters.are_helped()) return false;  // the helper will check
  if (work_anywhere(s)) {
    if (s.stack_waiters.are_helped()) return false;  // the helper has made it runnable, and is about to start an M
    fatal("internal error: all threads are asleep although a goroutine is runnable");
  }
  return true;
}

}  // namespace

void check_deadlock_locked(Sched& s) noexcept {
  s.lock.assert_held();
  bool const nothing_can_help = nothing_known_can_help(s);
  bool const is_left_open = nothing_can_help && foreign_threads_exist(s);
  bool const was_left_open = s.deadlock.note_check(is_left_open);
  if (is_left_open && !was_left_open) s.sysmon.end_deep_sleep();  // it looks again and again from now on
  if (!nothing_can_help || is_left_open) return;
  os::end_if_unknown_child();
  if (has_ender()) return end_for_waiting_ender();
  bool const is_empty = s.end.main_has_left_by_goexit() && !goroutines_exist(s);
  print_error("thrum: fatal error: %s - deadlock!",
              is_empty ? "no goroutines (main called goexit)" : "all goroutines are asleep");
  s.deadlock.note_report();
  s.lock.release();  // the report takes the lock, and no other thread will
  if (s.report_goroutines != nullptr) s.report_goroutines(s);
  die();
}

}  // namespace thrum::rt
