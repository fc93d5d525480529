// Which of the scheduler's heuristics take part. A build with the CMake option THRUM_ABLATION can leave out any of
// them, so that a benchmark shows what each is worth: ./dev bench --without NAME (bench/README.md, decision 021). All
// other builds have all of them, and applies() costs nothing there.
//
// THRUM_ABLATE=name[,name] names those to be left out. It is read when a run starts. A program without one of them is
// slower or uses more CPU time, and works.
#pragma once

#include "base/atomic.h"

#include <cstdint>
#include <string_view>

#ifndef THRUM_ABLATION
#define THRUM_ABLATION 0
#endif

namespace thrum::rt {

inline constexpr bool with_ablation = THRUM_ABLATION != 0;

// X(name, the workloads of bench/ on which it should show, what happens without it). The numbers are in
// base/heuristics.h. bench/harness/ablation.py reads this list.
// clang-format off
#define THRUM_HEURISTICS(X) \
  X(search_patience, "pingpong chan_spsc select spawn_deep", "an M that finds no work rests after one look") \
  X(spin_limit, "chan_mpmc spawn", "all Ms may search at once, and not one for every two busy Ps") \
  X(sparse_polls, "echo echo_5000 chan_mpmc", "every search polls the network") \
  X(age_to_steal, "pingpong chan_ring select", "a lone goroutine is stolen however new it is") \
  X(poor_steals, "chan_mpmc chan_spsc select", "a thief takes a handful also after steals that did not pay off") \
  X(few_events, "echo echo_5000 http kv", "an M that fetched several events always wakes other Ms for them") \
  X(pace, "echo http kv", "an M keeps few events however long their goroutines ran before") \
  X(busy_since, "echo_5000 http kv", "an M keeps few events however long it has not slept") \
  X(spreads_at_once, "echo http kv", "a P does not learn from a batch of events that waited") \
  X(put_off_wakeups, "pingpong chan_spsc select wake", "each goroutine that is readied wakes an M beside an idle P") \
  X(put_off_timers, "sleep wake", "a goroutine that has readied another one and sleeps wakes an M for its timer") \
  X(pending_watch, "sleep sleep_many", "a goroutine that sleeps wakes an M for its timer before its M looks for work") \
  X(far_off_timers, "echo http kv", "an M is woken also for a timer that sysmon would see in time") \
  X(wakes_at_once, "wake_busy parallel_sum", "a P does not learn from a wake-up that was put off by mistake") \
  X(rare_after, "wake_busy pingpong", "a mistake after long without one counts as much as one that follows another") \
  X(second_look, "wake_busy", "sysmon looks again after its usual time when it has seen a goroutine wait") \
  X(moment, "wake wake_busy", "sysmon does not wait a moment for a P that makes progress, but looks again soon") \
  X(soon_after, "wake idle", "sysmon asks for a nudge after each look that found nothing") \
  X(pause_beside_put_off, "kv http", "sysmon's pauses grow to 10 ms although events are kept on one P") \
  X(poll_care, "echo http kv", "sysmon does not look more often after an event has waited beside an idle P") \
  X(unwatched_for, "kv http", "sysmon calls an M to the poller at the second look that finds none there") \
  X(timer_pace, "sleep sleep_many", "sysmon wakes up for each timer of a P that is busy") \
  X(timer_hurry, "sleep wake", "sysmon does not make a busy P look at its timers") \
  X(runs_to_look, "pingpong yield sleep", "a P looks at its timers and behind runnext before each run") \
  X(slower_looks, "cpu_bound hog", "sysmon looks every 20 us for as long as a P is busy") \
  X(exact_pauses, "blocking unannounced pauses", "sysmon's short pauses are as inexact as its long ones") \
  X(slice_timers, "cpu_bound hog", "the end of a slice comes by a signal from sysmon, not by a timer of the thread") \
  X(spare_thread, "hog unannounced", "no thread is made ready for a slice that will end inside the C library") \
  X(turns_past_inbox, "yield mutex", "an M with residents looks at its inbox in every turn") \
  X(newcomer_spin, "mutex", "a goroutine that finds a mutex locked parks at once") \
  X(woken_spin, "mutex", "a waiter that was woken and came too late parks at once") \
  X(lock_spins, "spawn chan_mpmc mutex", "a thread that finds a lock of the runtime held sleeps at once") \
  X(frame_prefetch, "sleep_many", "frames of goroutines whose timers are due are not fetched ahead") \
  X(queue_prefetch, "yield_many chan_mpmc", "the next goroutine of the run queue is not fetched ahead") \
  X(stack_trim, "spawn_deep skynet", "free stacks keep what they used until they are given back")
// clang-format on

enum class heuristic : std::uint8_t {
#define THRUM_NAME_ALONE(name, rows, without) name,
  THRUM_HEURISTICS(THRUM_NAME_ALONE)
#undef THRUM_NAME_ALONE
};

[[nodiscard]] constexpr std::uint64_t bit_of(heuristic h) noexcept {
  return std::uint64_t{1} << static_cast<unsigned>(h);
}

struct ablations {
  std::uint64_t left_out = 0;  // bits of heuristics
  std::string_view unknown;    // the first name of the list that is none; empty: all are
};
// `list` is the text of THRUM_ABLATE. Empty names are passed over.
[[nodiscard]] ablations parse_ablations(std::string_view list) noexcept;
// All names, separated by ", ".
[[nodiscard]] std::string_view heuristic_names() noexcept;

#if THRUM_ABLATION
inline constinit atomic<std::uint64_t> heuristics_left_out{0};

[[nodiscard]] inline bool applies(heuristic h) noexcept {
  return (heuristics_left_out.load(relaxed) & bit_of(h)) == 0;  // relaxed: written before the run has other threads
}
#else
[[nodiscard]] constexpr bool applies(heuristic) noexcept { return true; }
#endif

// Leaves out the heuristics of this list, and no others. nullptr is an empty list. An unknown name ends the program
// with a message. In builds without THRUM_ABLATION it does nothing.
void leave_out(char const* list) noexcept;

}  // namespace thrum::rt
