// Sched: what all Ms of one run share (S04).
//
// One per run(): nothing of it is global, so that a goroutine left behind by an earlier run can never reach the next one.
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
  bool randomize = false;                // S07, S08: orders that nobody may count on are shuffled
  std::int64_t schedtrace_every_ns = 0;  // 0: never
  bool scheddetail = false;
  bool async_preemption = true;
  bool stop_beside_own_malloc = false;
  bool posix_calls_park = true;  // where thrum::posix is linked
  int preempt_signal = SIGURG;
  std::int64_t idle_thread_after_ns = 60'000'000'000;
  std::int64_t scavenge_after_ns = 300'000'000'000;
  bool procs_by_hand = true;           // by the program or its environment: else they follow the machine
  std::int64_t slice_ns = 10'000'000;  // after which a goroutine is preempted if others wait
  bool io_uring = true;                // reads that wait for the disk give it to the kernel's ring
  bool panic_shows_all = true;         // the goroutine that panicked, and then all others
};

// With many goroutines paused, whom the next turn that is not theirs is for: see sys/preempt.h.
enum class plain_turn : std::uint8_t { none, started_only, all };

// What ends a run: run() that returns, or exit() on a goroutine.
enum class ended_by : std::uint8_t { nobody, run, exit };

struct Sched {
  explicit Sched(settings const& chosen);
  ~Sched();
  Sched(Sched const&) = delete;
  Sched& operator=(Sched const&) = delete;

  // A P for the table, stopped.
  [[nodiscard]] std::unique_ptr<P> make_proc(int id);
  // With the world stopped: from now on the first `count` of the table are in use.
  void use_procs(int count) noexcept;

  // A stack of its own size for g; nullptr: none can be had. Not under a lock, since a new one costs system calls and a page fault.
  [[nodiscard]] stack* allocate_stack(G const& g) noexcept;

  [[nodiscard]] std::size_t stack_size_of(G const& g) const noexcept {
    return g.task.stack_bytes == 0 ? options.stack_size : g.task.stack_bytes;
  }

  // Under lock: the idle Ms, and the one that keeps the time.
  [[nodiscard]] std::int32_t ms_resting() const noexcept { return ms_idle + (timekeeper != nullptr ? 1 : 0); }

  // T05: how many goroutines should sleep in the middle of user code at most, each on a thread of its own: see
  // sys/preempt.h. From half of that on they are many.
  [[nodiscard]] std::int32_t paused_max() const noexcept {
    return std::min(std::max(64, 8 * procs.size()), std::max(2, threads_max.load(relaxed) - procs.size() - 4));
  }
  // Of the threads that the program may have, every P needs one, M0 is one, and one is kept for a system call.
  [[nodiscard]] bool may_be_paused(std::int32_t more) const noexcept {
    return ms_paused.load(relaxed) + more + procs.size() + 2 <= threads_max.load(relaxed);
  }
  [[nodiscard]] bool many_are_paused() const noexcept { return ms_paused.load(relaxed) >= paused_max() / 2; }
  [[nodiscard]] bool too_many_are_paused() const noexcept { return ms_paused.load(relaxed) >= paused_max(); }

  // fixed
  settings const options;
  std::uint32_t const epoch;  // which run of this process it is: never 0, comes round after 65,535
  static constinit atomic<std::uint32_t> live_epoch;              // of the run that is alive; 0: there is none
  static constinit atomic<std::int32_t> threads_asleep_for_good;  // of earlier runs: see sched/end_all_ms.cpp
  static void forget_threads_of_parent() noexcept;                // fork has taken none of them along
  os::signal_mask const ms_signals;  // what every M takes: run()'s caller's, and the preemption signal (T15)
  fp_control const initial_fp = fp_control::current();  // of run()'s caller: what every goroutine starts with

  // What every stack of this run has below its top, at least. A goroutine that parks deeper than this may have left its stack. Shrinks
  // when a goroutine asks for a smaller one.
  atomic<std::size_t> stack_reach;

  // changed while the world is stopped
  proc_table procs;
  coprime_steps steal_steps;

  // read by every `go` and ready, written when Ms and Ps go idle or get busy
  alignas(cache_line_bytes) atomic<std::int32_t> spinning{0};  // Ms that look for work
  atomic<std::int32_t> idle_procs{0};                          // written under lock
  atomic<std::uint32_t> global_size{0};                        // written under lock
  atomic<std::int64_t> timekeeper_until_ns{never_ns};          // written under lock: see timekeeper.h
  // Written by sysmon: a wake-up that is put off from now on needs a nudge, because sysmon sleeps for long. See
  // sys/put_off_watch.h.
  atomic<bool> put_off_is_unwatched{false};

  // the network poller: see sched/poll.h
  alignas(cache_line_bytes) atomic<std::int32_t> poll_waiters{
      0};                           // goroutines that wait for a descriptor, or are about to
  atomic<std::int32_t> in_poll{0};  // Ms that sleep there; at rest one at most
  atomic<std::uint32_t> polls{0};   // looks, by anybody

  rt::cold_reads cold_reads;  // found by it as well

  alignas(cache_line_bytes) os::lock lock{lock_rank::sched};
  // under lock
  global_run_queue global_queue;
  random_source random{options.seed};           // for the randomised mode
  plain_turn turn_of_plain = plain_turn::none;  // although many are paused
  std::int32_t plain_turns_missed = 0;          // since too many are
  P* idle_p_list = nullptr;
  M* idle_m_list = nullptr;
  M* all_ms = nullptr;
  M* unborn_ms = nullptr;              // have a P and no thread yet: see sched/thread_maker.h
  M* ended_ms = nullptr;               // were let go, and are to be joined
  M* threadless_ms = nullptr;          // to be used again: their thread is gone, or never came
  std::int32_t ms_expected = 0;        // unborn without a P: it was taken back, or they are spare
  bool wants_spare = false;            // a thread without a P is to be made, to be idle
  std::int32_t ms_paused_in_libc = 0;  // of ms_paused: they may hold a lock there. See commit_move
  slab<M> m_slab;
  atomic<std::int32_t> threads_max{options.threads_max};  // see set_max_threads
  std::int32_t ms_made = 0;                               // the next M's id
  std::int32_t ms_total = 0;                              // made and not ended, M0 included
  std::int32_t ms_idle = 0;
  std::int32_t ms_foreign = 0;    // of other threads; not among ms_total
  std::int32_t ms_in_place = 0;   // that sleep with a locked goroutine, parked: M::rests_in_place
  M* timekeeper = nullptr;        // sleeps until the next timer is due; in no list and not idle
  bool timekeeper_awake = false;  // it was woken to look again, and is on its way to lock
  bool timekeeper_polls = false;  // it sleeps in the poll: see sched/poll.h
  bool m0_waits = false;          // main has left its first thread, which now waits for the end
  bool deadlock_is_reported = false;
  bool stopping = false;
  g_list waiting_for_stack;                // unstarted Gs for which no stack could be had
  atomic<std::uint32_t> stack_waiters{0};  // their number; written under lock

  // the caches behind the Ps' own
  alignas(cache_line_bytes) os::lock free_lock{lock_rank::free_lists};
  slab<G> g_slab;
  slab<sudog> sudog_slab;
  word_stack free_gs;  // dead Gs
  std::uint32_t gs_made = 0;
  std::uint32_t gs_reserved = 0;  // for so many Gs there is room in the global queue and among the dead
  sudog_list free_sudogs;
  std::uint64_t next_id = 1;  // goroutine ids; main is 1

  // Rounds of trimming: in each, every P passes its cached stacks to the pool once (sys/housekeeping.h).
  atomic<std::uint32_t> trim_rounds{0};

  // sysmon, which watches the Ps from outside: see sys/sysmon.h
  atomic<std::uint32_t> sysmon_bell{0};        // see ring_sysmon and nudge_sysmon
  atomic<std::uint32_t> thread_maker_bell{0};  // rung by adding 1
  // Threads that are no Ms: sysmon, the thread maker, chaos. Under lock once sysmon looks; fixed before main starts.
  int own_threads = 0;
  counter sysmon_looks;
  counter retaken;            // Ps that sysmon took from system calls
  counter preemptions_asked;  // requests; a slice may need several
  counter unannounced;        // Ps taken from threads that slept in the kernel without saying so: sys/unannounced.h
  atomic<std::int32_t> ms_without_p{0};  // threads that came to be in user code like that
  bool sysmon_in_deep_sleep = false;     // under lock
  rt::blocking_sites blocking_sites;     // under lock
  atomic<bool> sysmon_is_slow{false};    // it will not look within some ten microseconds
  // For so long at most, unless all Ps are idle; 10 ms until it has said so itself
  atomic<std::int64_t> sysmon_pause_ns{10'000'000};
  // The moment by which it looks at the timers of all Ps if none is idle: see have_sysmon_watch in sched/timekeeper.h
  atomic<std::int64_t> sysmon_looks_by_ns{0};

  // threads from outside: see sys/foreign.h
  foreign_seat* seats = nullptr;
  foreign_seat* seats_left = nullptr;
  ended_threads threads_that_left;  // under lock, for the thread maker: is anybody left who could help?

  // stop the world: see sched/world.h
  std::int32_t procs_to_stop = 0;  // under lock
  std::int32_t world_holders =
      0;  // under lock: who stops it, until all that has work runs again; not both at once, but for a moment
  os::note world_stopped;
  // Loops are interrupted by signal although that is off: for a report with which the program ends (boot/report.h).
  atomic<bool> signals_for_report{false};
  atomic<bool> end_is_near{false};  // nobody is to begin
  durations stopping_took;          // until all had stopped
  durations stopped_for;            // and until they were started again

  // for_each_proc, and who stops the world
  os::lock safe_point_lock{lock_rank::safe_point};
  void (*safe_point_function)(P&, void*) noexcept = nullptr;
  void* safe_point_argument = nullptr;
  atomic<std::int32_t> safe_points_left{0};
  os::note safe_points_done;

  stack_pool stacks;
  wait_table waiters;

  // What a higher floor does, filled by boot: the goroutine dump, to standard error. nullptr: it is left out.
  void (*report_goroutines)(Sched& s) noexcept = nullptr;
  atomic<bool> cpus_may_have_changed{false};  // see boot/quota.h
  atomic<bool> procs_by_hand{options.procs_by_hand};
  void (*follow_cpus)(Sched& s) noexcept = nullptr;
  // What the thread maker is to do once: a report on all goroutines, which needs a thread without a P. See boot/report.h.
  atomic<void (*)(Sched& s) noexcept> errand{nullptr};

  // the end
  atomic<std::int32_t> ms_running{0};  // threads that have not come to their end, M0 not counted
  atomic<std::int32_t> ms_paused{0};   // of these, asleep in the middle of user code: sys/preempt.h
  // Added to it when those that are asleep for good have been counted: who comes later counts himself.
  static constexpr std::int32_t paused_are_counted = 1 << 30;
  atomic<bool> is_over{false};  // as stopping, for those who cannot take the lock
  // Decides between exit() on a goroutine and the return of run(), when both come at once: the first one to say so ends the run.
  atomic<ended_by> ender{ended_by::nobody};
  // The M whose goroutine has called exit(): all others are stopped (sched/exit_stage.h). nullptr: there is none. Written by that M.
  atomic<M*> exits_on{nullptr};
  os::note main_ended;
  bool main_completed = false;      // main returned or threw: written by main before it ends
  Sched* next_abandoned = nullptr;  // see boot/run.cpp
  bool main_exited = false;         // main left by goexit: the others go on. Under lock
};

// The M that runs on p, as a hint: it may have left by the time of the answer. nullptr: there is none.
[[nodiscard]] inline M* m_seen_on(P const& p) noexcept {
  M* const m = p.status.load(relaxed) == p_status::running ? hint_of(p.m) : nullptr;
  // ThreadSanitizer does not know that a pointer orders what it leads to. Ms are made under this lock.
  if constexpr (with_tsan) os::lock_guard const guard(p.sched.lock);
  return m;
}

}  // namespace thrum::rt
