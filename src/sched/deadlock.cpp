#include "sched/deadlock.h"

#include "base/check.h"
#include "os/thread.h"
#include "sched/timekeeper.h"
#include "sched/wake.h"

namespace thrum::rt {
namespace {

// Of the process and not of a run: it ends as a whole.
constinit atomic<bool> program_dies{false};

// An M is at rest when it waits in the idle list, or for its parked goroutine; M0 also when it waits for the end of main.
bool everybody_rests(Sched const& s) noexcept {
  int const resting = s.ms_idle + s.ms_in_place + (s.m0_waits ? 1 : 0);
  int const all = s.ms_total + s.ms_foreign;
  if (resting > all || s.ms_idle < 0 || s.ms_in_place < 0) {
    fatal("internal error: inconsistent counts of threads: %d idle, %d resting in place, %d in all", s.ms_idle,
          s.ms_in_place, all);
  }
  return resting == all;
}

// A thread that thrum did not make may yet call `go`, or release what everybody waits for (T13).
bool foreign_threads_exist(Sched const& s) noexcept {
  int const threads = os::count_process_threads();
  return threads < 0 ||
         threads > s.ms_total + s.ms_foreign + s.own_threads + Sched::threads_asleep_for_good.load(relaxed);
}

// Everybody rests, so the counts of the Ps stand still.
bool goroutines_exist(Sched const& s) noexcept {
  std::uint64_t alive = 0;
  for (P const* const p : s.procs.all()) alive += p->counters.created.load(relaxed) - p->counters.ended.load(relaxed);
  return alive != 0;
}

}  // namespace

void check_deadlock_locked(Sched& s) noexcept {
  s.lock.assert_held();
  // A P that is not idle is in somebody's hands who is no M at work, sysmon's for example: he will hand it off, and look.
  if (s.idle_procs.load(relaxed) != s.procs.size()) return;
  if (s.world_holders != 0) return;    // idle Ps will be started yet, and he who holds the world will look
  if (s.deadlock_is_reported) return;  // the thread maker looks as well
  if (!everybody_rests(s) || s.main_ended.is_woken() || !s.options.detect_deadlock) return;
  if (earliest_timer(s) != never_ns) return;
  if (s.poll_waiters.load(relaxed) != 0) return;  // something may come; relaxed: who waits came before, by the lock
  if (work_anywhere(s)) fatal("internal error: all threads are asleep beside a runnable goroutine");
  if (foreign_threads_exist(s)) return;
  // relaxed: whoever reports the panic said so before his M came to rest, under the lock. He rests like all others, so it is the
  // function that waits: the report itself waits for nobody.
  if (program_dies.load(relaxed)) {
    print_error("thrum: the on_panic function waits, and nobody can wake it");
    die();
  }
  bool const is_empty = s.main_exited && !goroutines_exist(s);
  print_error("thrum: fatal error: %s - deadlock!",
              is_empty ? "no goroutines (main called goexit)" : "all goroutines are asleep");
  s.deadlock_is_reported = true;
  s.lock.release();  // the report takes it, and nobody else will
  if (s.report_goroutines != nullptr) s.report_goroutines(s);
  die();
}

void note_that_program_dies() noexcept { program_dies.store(true, relaxed); }

}  // namespace thrum::rt
