// P: a processor. It is the right to run goroutines, together with everything that an M needs to do so without touching
// data of other threads (S03).
//
// There are as many Ps as max_procs says. A P is held by at most one M at a time; that M is called "the owner" below.
// The run queue of an idle P is empty.
#pragma once

#include "base/heuristics.h"
#include "base/platform.h"
#include "base/random.h"
#include "core/counters.h"
#include "core/duration_histogram.h"
#include "core/p_timers.h"
#include "core/pace.h"
#include "core/run_queue.h"
#include "core/sightings.h"
#include "core/status.h"
#include "core/sudog.h"
#include "core/trace_stream.h"
#include "stack/stack_cache.h"

#include <cstdint>

namespace thrum::rt {

struct M;
struct Sched;

// Requests to the owner, which reads them at its next safe point: bits of P::attention.
namespace attend {
inline constexpr std::uint32_t safe_point = 1;  // run the function of for_each_proc
inline constexpr std::uint32_t stopping = 2;    // the run ends
// a goroutine waits for a stack, so the cached stacks go to the pool
inline constexpr std::uint32_t give_up_stacks = 4;
inline constexpr std::uint32_t stop_world = 8;  // stop this P: see sched/world.h
}  // namespace attend

// Why a thread claims a P from an M that is in a system call. `none`: the P is not claimed. `call`: other goroutines
// need the P. `slice`: the time slice is over, so an M that comes back from the call during the claim gives the P up
// itself.
enum class claim_for : std::uint8_t { none, call, slice };

struct alignas(cache_line_bytes) P {
  P(Sched& owner_sched, int number, std::uint32_t capacity, std::uint64_t seed)
  noexcept : queue(capacity), sched(owner_sched), id(number), random(seed) {}

  // see run_queue.h
  run_queue queue;

  // fixed
  alignas(cache_line_bytes) Sched& sched;
  int const id;

  // written by any thread, read by the owner at every safe point
  atomic<std::uint32_t> attention{0};

  // Written by the owner. It counts down, by one for each goroutine that runs with or without a slice of its own, to
  // the next look at the timers and at the goroutines behind runnext. sysmon writes 0 when a timer is due. The owner
  // may overwrite that 0 with its own next number; sysmon then sees at its next look that the timer is due, and writes
  // 0 once more.
  atomic<std::uint32_t> runs_to_look{global_tick};

  // Set by the owner when it puts a wake-up off, cleared by sysmon: see sys/put_off_watch.h.
  atomic<bool> has_put_off{false};

  // owner only
  std::uint32_t ticks_to_global = 0;  // 0: schedtick is a multiple of 61, so the global queue is served first
  std::uint32_t look_count = 0;       // how often runs_to_look reached 0
  M* m = nullptr;                     // the owner; also read by threads that claim this P
  std::uint32_t slices_ended = 0;     // slices that preemption ended here
  std::uint32_t free_g_count = 0;
  std::array<G*, free_g_cache_max> free_gs{};  // dead Gs; the last one is used first
  std::uint64_t next_id = 0;                   // goroutine ids are taken from Sched::records in batches
  std::uint64_t id_batch_end = 0;
  stack_cache stacks;
  std::uint32_t trim_round = 0;  // the last of Sched::trim_rounds in which this P's cached stacks went to the pool
  sudog_list sudogs;
  random_source random;
  rt::pace pace;

  // written by the owner, read by any thread
  atomic<std::uint32_t> schedtick{0};  // goroutines started here, except those that inherited a time slice
  p_counters counters;
  duration_histogram ready_to_run;     // of the goroutines that were timed and ran here: see G::begin_ready_time
  duration_histogram calls_took;       // announced calls from which a goroutine came back here; a sample of them
  duration_histogram long_calls_took;  // the same for each call that was declared long
  duration_histogram polls_took;       // a sample of counters.polls

  // written by sysmon and the owner: how many more times the owner starts an M on an idle P at once, because sysmon
  // found that putting the wake-up off was a mistake
  atomic<std::uint32_t> wakes_at_once{0};    // by ready, and for a timer that was left behind
  atomic<std::uint32_t> spreads_at_once{0};  // for a few events: see sched/poll.h

  // under sched.lock, except on the way into a system call, on the way out of it, and when a claimant takes the P from
  // its M: see sys/blocking.h
  P* idle_link = nullptr;
  std::int64_t idle_since_ns = 0;  // valid while it is idle
  atomic<p_status> status{p_status::stopped};

  // Written by the thread that is about to take this P from an M in a system call (core/claims.h). The thread that
  // holds the claim owns the two fields below.
  atomic<claim_for> claimed{claim_for::none};
  P* claim_link = nullptr;
  M* claimed_from = nullptr;

  // see p_timers.h
  p_timers timers;

  // owner only, or the thread that has claimed this P
  alignas(cache_line_bytes) trace::stream trace{static_cast<std::uint16_t>(id)};

  alignas(cache_line_bytes) sightings seen;

  void transition(p_status from, p_status to) noexcept {
    // relaxed: changed under sched.lock, by the owner, or by the thread that claimed the P
    auto const actual = status.load(relaxed);
    if (actual != from || !is_legal(from, to)) {
      illegal_transition("P", static_cast<std::uint64_t>(id), name_of(actual), name_of(from), name_of(to));
    }
    status.store(to, relaxed);
  }

  // A goroutine begins a time slice of its own.
  void tick() noexcept {
    owner_add(schedtick, 1U);
    ticks_to_global = ticks_to_global == 0 ? global_tick - 1 : ticks_to_global - 1;
  }
};

}  // namespace thrum::rt
