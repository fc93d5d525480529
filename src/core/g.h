// G: a goroutine.
//
// A small record with room for the callable inside it. It has no stack until it first runs, so a million goroutines that
// wait for their first turn cost a million of these and nothing else.
//
// Who owns a G: in a free list, the list. Unstarted, the queue entry that names it (and, when it is joinable, the handle
// may claim it: see entry.h). Runnable, the queue. Running, the M. Waiting, whoever holds it in a wait queue. A record is
// recycled when its references are gone: one for its run, one for the handle of a joinable goroutine.
//
// Layout: the first cache line is all that a switch touches; a new goroutine with a small callable touches two.
#pragma once

#include "arch/context.h"
#include "base/atomic.h"
#include "core/status.h"
#include "core/wake_race.h"
#include <thrum/detail/task.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct G;
struct M;
struct stack;

// The join word of a joinable G: one of these, or the G that waits in join().
inline constexpr std::uintptr_t join_pending = 0;
inline constexpr std::uintptr_t join_finished = 1;
inline constexpr std::uintptr_t join_detached = 2;

// What is to be seen to when a goroutine that waits is readied: bits of G::attention.
namespace g_attend {
inline constexpr std::uint8_t scanned = 1;  // sysmon looks at its stack: see sys/parked_stacks.h
inline constexpr std::uint8_t aged = 2;     // it has waited since waits_since_ns, at least
inline constexpr std::uint8_t timed = 4;    // its next turn is measured
}  // namespace g_attend

struct alignas(cache_line_bytes) G {
  // owner of the G only
  context saved;
  atomic<g_status> status{g_status::idle};
  atomic<std::uint32_t> references{0};
  G* link = nullptr;    // of the list it is in: see g_list
  stack* on = nullptr;  // the stack it runs on: its own, or its host's
  std::uint64_t id = 0;
  bool is_joinable = false;
  bool is_main = false;
  // Why whoever comes before it on a P does not switch straight to it, but by way of g0. Looked at together.
  struct {
    bool is_locked = false;           // to its thread, by lock_os_thread: see sched/own_thread.h
    std::uint8_t is_timed : 1 = 0;    // how long it waits for its turn is measured: see begin_turn
    std::uint8_t is_scanned : 1 = 0;  // it was readied while sysmon looked at its stack: see await_scan
    std::uint8_t unused : 6 = 0;
  } detour;
  bool is_at_home = false;            // it goes on only on the thread that it is on: see sched/home.h
  bool comes_home = false;            // and is runnable, off its stack: in its M's queue, or on the way there
  std::uint16_t blocking_depth = 0;   // scopes of blocking() that it is in
  atomic<std::uint8_t> attention{0};  // bits of g_attend: looked at by whoever readies it
  wait_reason waits_for = wait_reason::none;
  wake_race race;                      // for waits that more than one may end
  bool is_hosted : 1 = false;          // runs on its joiner's stack
  bool is_exiting : 1 = false;         // goexit is unwinding it
  atomic<bool> was_orphaned{false};    // its run is over; the record only serves a handle that is still there
  std::uint8_t home_depth = 0;         // what keeps it at home; if it is locked, what of lock_depth is that
  std::uint16_t lock_depth = 0;        // calls of lock_os_thread, and of home_depth, that are still to be undone
  std::int64_t runnable_since_ns = 0;  // if it is timed

  // set when it is created, read by its first run
  detail::task task;

  // the cold end: written only by what is rare
  atomic<std::uintptr_t> join{join_pending};
  void* wake_parameter = nullptr;  // what the waker hands to the woken
  void* locals = nullptr;          // thrum::local<T> values
  char* name = nullptr;            // this_goroutine::set_name
  // The only M that it may go on with: it is locked, or at home there, or its thread sleeps in its frames.
  M* locked_to = nullptr;
  void* exit = nullptr;                    // the unwinding that goexit started
  atomic<std::int64_t> waits_since_ns{0};  // by mutex; by others at least, with g_attend::aged
  char const* scavenged_at = nullptr;      // sysmon's: the sp it was parked at when its stack was looked at last

  static G& of(detail::task& its_task) noexcept {
    return *reinterpret_cast<G*>(reinterpret_cast<char*>(&its_task) - offsetof_task());
  }

  // Changes the status, naming both ends. The G has one owner in every state, so a plain store is enough; who may see it
  // next is told by the publication that follows (a queue's release, a lock).
  void transition(g_status from, g_status to) noexcept {
    if constexpr (debug_checks) check_transition(from, to);
    status.store(to, relaxed);
  }

  // Whatever it waits for, it goes on with the M it is on now.
  [[nodiscard]] bool keeps_its_m() const noexcept { return detour.is_locked || is_at_home; }

  // It was taken out of its wait queue, and is about to be put into a run queue. The caller may hold a lock, so this never waits.
  void end_wait() noexcept {
    transition(g_status::waiting, g_status::runnable);
    signal_fence();
    if (attention.load(acquire) != 0) [[unlikely]]  // pairs with parked_stacks
      end_attended_wait();
  }

  // The M that is about to run it, without a lock: waits until sysmon has done with its stack.
  void await_scan() noexcept {
    if (detour.is_scanned != 0) [[unlikely]]
      await_end_of_scan();
  }

  // relaxed: a thread from outside may look while the run ends. It has another way to find that out, or sleeps for good.
  [[nodiscard]] bool is_orphan() const noexcept { return was_orphaned.load(relaxed); }

  [[nodiscard]] bool takes_detour() const noexcept { return std::bit_cast<std::uint16_t>(detour) != 0; }

  // How long goroutines wait for their turn is measured of a few (stats::ready_to_run): there is a mark that is looked at anyway
  // when they become runnable, and one when they are run, so it costs the others nothing.
  //
  // Its owner, and it is runnable from now on. One that is locked is not measured: its thread has to be woken first.
  void begin_turn() noexcept;
  // Its owner, when it leaves its P: the next time that it becomes runnable, or now if it is.
  void time_next_turn() noexcept;

 private:
  void end_attended_wait() noexcept;
  void await_end_of_scan() noexcept;
  static constexpr std::size_t offsetof_task() noexcept;
  void check_transition(g_status from, g_status to) noexcept;
};

constexpr std::size_t G::offsetof_task() noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  return offsetof(G, task);
#pragma GCC diagnostic pop
}

#if !THRUM_ASAN && !THRUM_TSAN
static_assert(sizeof(G) == 256, "a million unstarted goroutines may cost 300 bytes each");
#endif

}  // namespace thrum::rt
