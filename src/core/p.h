// P: a processor: the right to run goroutines, and everything an M needs to do so without asking others (S03).
//
// As many Ps as max_procs. A P is held by one M at a time; that M is "the owner" below. An idle P has an empty ring.
#pragma once

#include "base/platform.h"
#include "base/random.h"
#include "core/counters.h"
#include "core/p_timers.h"
#include "core/pace.h"
#include "core/pauses.h"
#include "core/run_queue.h"
#include "core/sightings.h"
#include "core/status.h"
#include "core/sudog.h"
#include "stack/stack_cache.h"

#include <cstdint>

namespace thrum::rt {

struct M;
struct Sched;

// Reasons to look up from running goroutines at the next safe point: bits of P::attention.
namespace attend {
inline constexpr std::uint32_t safe_point = 1;      // run the function of for_each_proc
inline constexpr std::uint32_t stopping = 2;        // run() ends
inline constexpr std::uint32_t give_up_stacks = 4;  // somebody waits for a stack
inline constexpr std::uint32_t stop_world = 8;      // see sched/world.h
}  // namespace attend

// To take a P from a system call. `slice`: its slice is over, so whoever comes back meanwhile gives it up himself.
enum class claim_for : std::uint8_t { nobody, call, slice };

struct alignas(cache_line_bytes) P {
  P(Sched& owner_sched, int number, std::uint32_t capacity, std::uint64_t seed)
  noexcept : queue(capacity), sched(owner_sched), id(number), random(seed) {}

  // see run_queue.h
  run_queue queue;

  // fixed
  alignas(cache_line_bytes) Sched& sched;
  int const id;

  // written by anybody, read by the owner at every safe point
  atomic<std::uint32_t> attention{0};

  // Written by the owner: counts the goroutines that run, with or without slices of their own, down to the next look at the
  // timers and at those behind runnext. sysmon writes 0 when a timer is due. The owner may overwrite that 0 with its own next
  // number: then sysmon, which sees the timer still due, writes it again.
  atomic<std::uint32_t> runs_to_look{global_tick};

  // Set by the owner when it puts a wake-up off, cleared by sysmon: see sys/put_off_watch.h
  atomic<bool> has_put_off{false};

  // owner only
  std::uint32_t ticks_to_global = 0;  // 0: schedtick is a multiple of 61, the global queue has its turn
  std::uint32_t looks_up = 0;         // how often runs_to_look came to 0
  M* m = nullptr;                     // read by those who claim it
  std::uint32_t slices_ended = 0;     // by preemption
  std::uint32_t free_g_count = 0;
  std::array<G*, free_g_cache_max> free_gs{};  // dead Gs, the last one used last
  std::uint64_t next_id = 0;                   // goroutine ids come in batches
  std::uint64_t id_batch_end = 0;
  stack_cache stacks;
  std::uint32_t trim_round = 0;  // the last of Sched::trim_rounds in which its stacks went to the pool
  sudog_list sudogs;
  random_source random;
  rt::pace pace;

  // written by the owner, read by anybody
  atomic<std::uint32_t> schedtick{0};  // goroutines started here, but for those that inherited a time slice
  p_counters counters;
  durations ready_to_run;  // of those that were timed and run here: see G::begin_turn

  // written by sysmon and the owner: how many more times another P is woken at once, since putting it off was a mistake
  atomic<std::uint32_t> wakes_at_once{0};    // by ready, and for a timer that was left behind
  atomic<std::uint32_t> spreads_at_once{0};  // for a few events: see sched/poll.h

  // under sched.lock, but for the way into a system call, out of it, and out of its M's hands: see sys/blocking.h
  P* idle_link = nullptr;
  atomic<p_status> status{p_status::stopped};

  // see core/claims.h
  atomic<claim_for> claimed{
      claim_for::nobody};  // by one who is about to take it from a system call: who did has what follows
  P* claim_link = nullptr;
  M* claimed_from = nullptr;

  // see p_timers.h
  p_timers timers;

  alignas(cache_line_bytes) sightings seen;

  void transition(p_status from, p_status to) noexcept {
    auto const actual = status.load(relaxed);  // relaxed: changed under sched.lock, by the owner or by who claimed it
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
