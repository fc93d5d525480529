// Sched: what all Ms of one run share (S04).
//
// There is one Sched per run(). None of it is global, so a goroutine that an earlier run left behind can never reach
// the next run.
//
// A part that has operations of its own is a class in a file of its own, which says which lock and which threads:
//
//   ms            the Ms, their states and lists               core/m_pool.h
//   idle          idle Ps, and how many Ms search for work     core/idle_state.h
//   pauses        how many goroutines may be paused            core/pauses.h
//   records       dead Gs, sudogs and goroutine ids            core/record_pool.h
//   world         the right to stop the world, and a stop      core/world_stop.h
//   safe_points   a function that runs once on every P         core/safe_point_round.h
//   watch, poll   which M watches timers and the poller        core/watch_state.h
//   stack_waiters goroutines without memory for a stack        core/stack_waiters.h
//   deadlock      what the last check for a deadlock found     core/deadlock_state.h
//   sysmon        what sysmon and other threads tell           core/sysmon_link.h
//   thread_maker  what other threads tell the thread maker     core/thread_maker_link.h
//   unannounced   threads that run user code without a P       core/unannounced_calls.h
//   foreign       threads that thrum did not make              core/foreign_threads.h
//   trace         whether and where events are recorded        core/trace_state.h
//   end           how far the end of the run has come          core/run_end.h
//
// The other fields are grouped by the threads that may touch them.
#pragma once

#include "arch/fp_control.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/random.h"
#include "core/cold_reads.h"
#include "core/deadlock_state.h"
#include "core/entry.h"
#include "core/foreign_threads.h"
#include "core/global_run_queue.h"
#include "core/idle_state.h"
#include "core/m.h"
#include "core/m_pool.h"
#include "core/p.h"
#include "core/pauses.h"
#include "core/proc_table.h"
#include "core/record_pool.h"
#include "core/run_end.h"
#include "core/safe_point_round.h"
#include "core/stack_waiters.h"
#include "core/sysmon_link.h"
#include "core/thread_maker_link.h"
#include "core/trace_state.h"
#include "core/unannounced_calls.h"
#include "core/wait_table.h"
#include "core/watch_state.h"
#include "core/world_stop.h"
#include "os/lock.h"
#include "os/signal.h"
#include "stack/stack_pool.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace thrum::rt {

struct settings {
  int procs = 1;
  int threads_max = threads_max_default;
  std::size_t stack_size = stack_size_default;
  std::uint32_t run_queue_capacity = run_queue_capacity_max;
  bool detect_deadlock = true;
  std::uint64_t seed = 0;
  bool randomize = false;                // S07, S08: shuffle the orders that are unspecified
  std::int64_t schedtrace_every_ns = 0;  // 0: never
  bool scheddetail = false;
  bool async_preemption = true;
  bool stop_beside_own_malloc = false;
  bool posix_calls_park = true;  // where thrum::posix is linked
  int preempt_signal = SIGURG;
  std::int64_t idle_thread_after_ns = 60'000'000'000;
  std::int64_t scavenge_after_ns = 300'000'000'000;
  bool procs_by_hand = true;  // set by the program or its environment; otherwise the number of Ps follows the machine
  std::int64_t slice_ns = 10'000'000;               // after which a goroutine is preempted if others wait
  std::int64_t limit_patience_ns = 10'000'000'000;  // see sys/limit_watch.h
  bool io_uring = true;                             // reads that wait for the disk are given to the kernel's io_uring
  bool measure_waits = false;                       // see trace_state::measures_waits
  bool panic_shows_all = true;                      // a panic shows the goroutine that panicked, and then all others
};

struct Sched {
  explicit Sched(settings const& chosen);
  ~Sched();
  Sched(Sched const&) = delete;
  Sched& operator=(Sched const&) = delete;

  // Makes a P for the table. It is stopped.
  [[nodiscard]] std::unique_ptr<P> make_proc(int id);
  // With the world stopped: puts the first `count` Ps of the table into use.
  void use_procs(int count) noexcept;

  // Returns a stack of the size that g asks for, or nullptr if there is no memory. Not to be called under a lock,
  // because a new stack costs system calls and a page fault.
  [[nodiscard]] stack* allocate_stack(G const& g) noexcept;

  [[nodiscard]] std::size_t stack_size_of(G const& g) const noexcept {
    return g.task.stack_bytes == 0 ? options.stack_size : g.task.stack_bytes;
  }

  // fixed
  settings const options;
  std::uint32_t const epoch;  // the number of this run in its process: never 0, wraps around after 65,535
  static constinit atomic<std::uint32_t> live_epoch;              // of the run that is alive; 0: there is none
  static constinit atomic<std::int32_t> threads_asleep_for_good;  // of earlier runs: see sched/end_all_ms.cpp
  static void forget_threads_of_parent() noexcept;                // a child of fork has none of those threads
  // the mask of every M: that of run()'s caller, with the preemption signal unblocked (T15)
  os::signal_mask const ms_signals;
  fp_control const initial_fp = fp_control::current();  // of run()'s caller; every goroutine starts with it

  // Every stack of this run has at least this many bytes below its top. A goroutine that parks deeper than this may
  // have left its stack. It shrinks when a goroutine asks for a smaller stack.
  atomic<std::size_t> stack_reach;

  // changed only while the world is stopped
  proc_table procs;
  coprime_steps steal_steps;

  // read by every `go` and ready, written when Ms and Ps become idle or busy
  alignas(cache_line_bytes) idle_state idle{lock, procs, sysmon};
  rt::global_size global_size;  // of global_queue
  watch_state watch;

  alignas(cache_line_bytes) poll_state poll;

  rt::cold_reads cold_reads;  // their answers are also found by the poller

  alignas(cache_line_bytes) os::lock lock{lock_rank::sched};
  // under lock
  global_run_queue global_queue{global_size};
  random_source random{options.seed};  // for the randomised mode
  m_pool ms;                           // see core/m_pool.h
  rt::pauses pauses{ms, procs, options.threads_max};
  deadlock_state deadlock;
  rt::stack_waiters stack_waiters;

  alignas(cache_line_bytes) record_pool records;  // behind the Ps' caches

  // Rounds of trimming. In each round every P passes its cached stacks to the pool once (sys/housekeeping.h).
  atomic<std::uint32_t> trim_rounds{0};

  sysmon_link sysmon;
  unannounced_calls unannounced;

  thread_maker_link thread_maker;
  // The number of threads that are no Ms: sysmon, the thread maker, chaos. It is fixed before main starts, and under
  // lock once sysmon has begun to look.
  int own_threads = 0;

  foreign_threads foreign;
  world_stop world;              // see sched/world.h
  safe_point_round safe_points;  // see sched/safe_point.h

  stack_pool stacks;
  wait_table waiters;

  trace::trace_state trace;

  // A function of a higher layer, filled in by boot: prints the goroutine dump to standard error. nullptr: the dump is
  // left out.
  void (*report_goroutines)(Sched& s) noexcept = nullptr;
  atomic<bool> procs_by_hand{options.procs_by_hand};

  run_end end;
  Sched* next_abandoned = nullptr;  // see boot/left_behind.cpp
};

// They stand on one line, which a publisher and a searching M read in one go.
static_assert(sizeof(idle_state) + alignof(watch_state) + sizeof(watch_state) <= cache_line_bytes);

// The Ms that exist at this moment. They are complete, because Ms are made under the lock. Not to be called under it.
[[nodiscard]] inline all_ms all_ms_now(Sched& s) noexcept {
  os::lock_guard const guard(s.lock);
  return s.ms.all();
}

// m gives its P up. The caller passes it on.
inline P& release_p(M& m, trace::release_detail why = trace::release_detail::given_up) noexcept {
  P& p = *m.p;
  if (m.sched.trace.is_on()) [[unlikely]]
    trace::note::p_released(m, p, why);
  m.p = nullptr;
  return p;
}

// m takes p, which no thread holds.
inline void acquire_p(M& m, P& p) noexcept {
  THRUM_DCHECK(m.p == nullptr && p.m == nullptr);
  m.p = &p;
  p.m = &m;
  signal_fence();  // was_given_a_p in sys/foreign.cpp, which uses the barrier, relies on this order
  if (m.sched.trace.is_on()) [[unlikely]]
    trace::note::p_taken(m, p);
  m_pool::has_acquired_p(m);
}

// Returns the M that runs on p, or nullptr if there is none. A hint: the M may have left p by the time of the return.
[[nodiscard]] inline M* m_seen_on(P const& p) noexcept {
  M* const m = p.status.load(relaxed) == p_status::running ? hint_of(p.m) : nullptr;
  // ThreadSanitizer does not know that reading a pointer orders the reads through it. Ms are made under this lock.
  if constexpr (with_tsan) os::lock_guard const guard(p.sched.lock);
  return m;
}

}  // namespace thrum::rt
