// Sched: what all Ms of one run share (S04).
//
// There is one Sched per run(). None of it is global, so a goroutine that an earlier run left behind can never reach
// the next run.
#pragma once

#include "arch/fp_control.h"
#include "base/limits.h"
#include "base/random.h"
#include "core/blocking_sites.h"
#include "core/blocks.h"
#include "core/cold_reads.h"
#include "core/ended_threads.h"
#include "core/entry.h"
#include "core/global_run_queue.h"
#include "core/m.h"
#include "core/m_pool.h"
#include "core/p.h"
#include "core/pauses.h"
#include "core/proc_table.h"
#include "core/slab.h"
#include "core/wait_table.h"
#include "os/lock.h"
#include "os/note.h"
#include "os/signal.h"
#include "stack/stack_pool.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace thrum::rt {

struct foreign_seat;

struct settings {
  int procs = 1;
  int threads_max = threads_max_default;
  std::size_t stack_size = stack_size_default;
  std::uint32_t ring_capacity = ring_capacity_max;
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
  std::int64_t slice_ns = 10'000'000;  // after which a goroutine is preempted if others wait
  bool io_uring = true;                // reads that wait for the disk are given to the kernel's io_uring
  bool panic_shows_all = true;         // a panic shows the goroutine that panicked, and then all others
};

// While many goroutines are paused, the global queue serves the paused ones first. This says which plain entries the
// next turn may be for instead: none, only goroutines that have started, or all. See sys/preempt.h.
enum class plain_turn : std::uint8_t { none, started_only, all };

// What ends a run: the return of run(), or exit() on a goroutine. `nobody`: the run has not ended.
enum class ended_by : std::uint8_t { nobody, run, exit };

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

  // T05: the number of goroutines that should at most be paused in the middle of user code, each on a thread of its
  // own: see sys/preempt.h. From half of that on, many are paused.
  [[nodiscard]] std::int32_t paused_max() const noexcept {
    return std::min(std::max(64, 8 * procs.size()), std::max(2, threads_max.load(relaxed) - procs.size() - 4));
  }
  // Whether `more` goroutines can be paused within threads_max. Every P needs a thread, M0 is one, and one is kept for
  // a system call.
  [[nodiscard]] bool may_be_paused(std::int32_t more) const noexcept {
    return ms.paused() + more + procs.size() + 2 <= threads_max.load(relaxed);
  }
  [[nodiscard]] bool many_are_paused() const noexcept { return ms.paused() >= paused_max() / 2; }
  [[nodiscard]] bool too_many_are_paused() const noexcept { return ms.paused() >= paused_max(); }

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
  alignas(cache_line_bytes) atomic<std::int32_t> spinning{0};  // Ms that search for work
  atomic<std::int32_t> idle_procs{0};                          // written under lock
  atomic<std::uint32_t> global_size{0};                        // written under lock
  atomic<std::int64_t> timekeeper_until_ns{never_ns};          // written under lock: see timekeeper.h
  // Written by sysmon. True while sysmon sleeps for long, so that an M that puts off a wake-up has to nudge it. See
  // sys/put_off_watch.h.
  atomic<bool> put_off_is_unwatched{false};

  // The network poller: see sched/poll.h. poll_waiters counts the goroutines that wait for a descriptor or are about
  // to.
  alignas(cache_line_bytes) atomic<std::int32_t> poll_waiters{0};
  atomic<std::int32_t> in_poll{0};  // Ms that sleep in the poller; at most one of them is at rest
  atomic<std::uint32_t> polls{0};   // polls, by any thread

  rt::cold_reads cold_reads;  // their answers are also found by the poller

  alignas(cache_line_bytes) os::lock lock{lock_rank::sched};
  // under lock
  global_run_queue global_queue;
  random_source random{options.seed};  // for the randomised mode
  // plain entries that get the next turn although many goroutines are paused
  plain_turn turn_of_plain = plain_turn::none;
  std::int32_t plain_turns_missed = 0;  // turns that unstarted goroutines have missed since too many are paused
  P* idle_p_list = nullptr;
  m_pool ms;                                              // see core/m_pool.h
  bool wants_spare = false;                               // a thread without a P is to be made, to be idle
  atomic<std::int32_t> threads_max{options.threads_max};  // see set_max_threads
  bool timekeeper_polls = false;                          // it sleeps in the poller: see sched/poll.h
  bool deadlock_is_reported = false;
  bool stopping = false;
  g_list waiting_for_stack;                // unstarted Gs for which there was no memory for a stack
  atomic<std::uint32_t> stack_waiters{0};  // their number; written under lock

  // the pools behind the Ps' caches
  alignas(cache_line_bytes) os::lock free_lock{lock_rank::free_lists};
  slab<G> g_slab;
  slab<sudog> sudog_slab;
  word_stack free_gs;  // dead Gs
  std::uint32_t gs_made = 0;
  std::uint32_t gs_reserved = 0;  // for so many Gs there is room in the global queue and in free_gs
  sudog_list free_sudogs;
  std::uint64_t next_id = 1;  // goroutine ids; the main goroutine has 1

  // Rounds of trimming. In each round every P passes its cached stacks to the pool once (sys/housekeeping.h).
  atomic<std::uint32_t> trim_rounds{0};

  // sysmon, which watches the Ps from a thread without a P: see sys/sysmon.h
  atomic<std::uint32_t> sysmon_bell{0};        // see ring_sysmon and nudge_sysmon
  atomic<std::uint32_t> thread_maker_bell{0};  // rung by adding 1
  // The number of threads that are no Ms: sysmon, the thread maker, chaos. It is fixed before main starts, and under
  // lock once sysmon has begun to look.
  int own_threads = 0;
  counter sysmon_looks;
  counter retaken;                       // Ps that sysmon took from system calls
  counter preemptions_asked;             // requests to pause; one slice may need several
  counter unannounced;                   // Ps taken from threads that slept in an unannounced call: sys/unannounced.h
  atomic<std::int32_t> ms_without_p{0};  // threads that came to run user code without a P because of that
  bool sysmon_in_deep_sleep = false;     // under lock
  rt::blocking_sites blocking_sites;     // under lock
  atomic<bool> sysmon_is_slow{false};    // sysmon will not look within some ten microseconds
  // The longest pause that sysmon makes at present, unless all Ps are idle. 10 ms until sysmon has written it.
  atomic<std::int64_t> sysmon_pause_ns{10'000'000};
  // The time by which sysmon looks at the timers of all Ps if none is idle: see have_sysmon_watch in
  // sched/timekeeper.h.
  atomic<std::int64_t> sysmon_looks_by_ns{0};

  // foreign threads: see sys/foreign.h
  foreign_seat* seats = nullptr;
  foreign_seat* seats_left = nullptr;  // seats whose thread has ended, for reuse
  // under lock; the thread maker reads it to find out whether a thread is left that could end a deadlock
  ended_threads threads_that_left;

  // stop the world: see sched/world.h
  std::int32_t procs_to_stop = 0;  // under lock
  // Under lock: the number of threads that have stopped the world and not finished restarting it. It is 2 only for a
  // moment, because one thread at a time stops the world.
  std::int32_t world_holders = 0;
  os::note world_stopped;
  // True for a report with which the program ends: loops are interrupted by signal even if preemption by signal is off
  // (boot/report.h).
  atomic<bool> signals_for_report{false};
  atomic<bool> end_is_near{false};  // no thread may begin to stop the world
  durations stopping_took;          // from the request until all Ps had stopped
  durations stopped_for;            // from the request until they were started

  // for_each_proc; the lock is also held by the thread that stops the world
  os::lock safe_point_lock{lock_rank::safe_point};
  void (*safe_point_function)(P&, void*) noexcept = nullptr;
  void* safe_point_argument = nullptr;
  atomic<std::int32_t> safe_points_left{0};
  os::note safe_points_done;

  stack_pool stacks;
  wait_table waiters;

  // A function of a higher layer, filled in by boot: prints the goroutine dump to standard error. nullptr: the dump is
  // left out.
  void (*report_goroutines)(Sched& s) noexcept = nullptr;
  atomic<bool> cpus_may_have_changed{false};  // see boot/quota.h
  atomic<bool> procs_by_hand{options.procs_by_hand};
  void (*follow_cpus)(Sched& s) noexcept = nullptr;
  // A function that the thread maker runs once: a report on all goroutines, which needs a thread without a P. See
  // boot/report.h.
  atomic<void (*)(Sched& s) noexcept> errand{nullptr};

  // the end
  atomic<std::int32_t> ms_running{0};  // threads of Ms that have not reached their end, M0 not counted
  atomic<bool> is_over{false};         // the same as `stopping`, for threads that cannot take the lock
  // Set before live_epoch ceases to name this run. Goroutines that the run leaves behind find it set, and do not come
  // back from the runtime (sync/wait.h).
  atomic<bool> leaves_behind{false};
  // Decides between exit() on a goroutine and the return of run() when both happen at once: the first of them to write
  // it ends the run.
  atomic<ended_by> ender{ended_by::nobody};
  // The M whose goroutine has called exit(); all others are stopped (sched/exit_stage.h). nullptr: there is none.
  // Written by that M.
  atomic<M*> exits_on{nullptr};
  os::note main_ended;
  bool main_completed = false;      // main returned or threw; written by the main goroutine before it ends
  Sched* next_abandoned = nullptr;  // see boot/run.cpp
  bool main_exited = false;         // main left by goexit, and the other goroutines continue. Under lock
};

// Returns the M that runs on p, or nullptr if there is none. A hint: the M may have left p by the time of the return.
[[nodiscard]] inline M* m_seen_on(P const& p) noexcept {
  M* const m = p.status.load(relaxed) == p_status::running ? hint_of(p.m) : nullptr;
  // ThreadSanitizer does not know that reading a pointer orders the reads through it. Ms are made under this lock.
  if constexpr (with_tsan) os::lock_guard const guard(p.sched.lock);
  return m;
}

}  // namespace thrum::rt
