// G: a goroutine.
//
// A small record that contains the callable. A G has no stack until it first runs, so a million goroutines that wait
// for their first turn cost a million records and nothing else.
//
// The owner of a G depends on its state:
//
//  - in a free list: the list
//  - unstarted: the queue entry that names it. If the goroutine is joinable, its handle may claim it: see entry.h.
//  - runnable: the run queue
//  - running: the M
//  - waiting: the wait queue in which it stands, and then the waker that takes it out
//
// A record is recycled when all its references are gone. The run of the goroutine holds one, and so does the handle of
// a joinable goroutine.
//
// Layout: a switch touches only the first cache line. A new goroutine with a small callable touches two.
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

// The join word of a joinable G is one of these values, or the address of the G that waits in join().
inline constexpr std::uintptr_t join_pending = 0;
inline constexpr std::uintptr_t join_finished = 1;
inline constexpr std::uintptr_t join_detached = 2;

// What the waker has to do in addition when it readies a waiting goroutine: bits of G::attention.
namespace g_attend {
inline constexpr std::uint8_t scanned = 1;  // sysmon looks at its stack: see sys/parked_stacks.h
inline constexpr std::uint8_t aged = 2;     // it has waited since waits_since_ns or longer
inline constexpr std::uint8_t timed = 4;    // the wait for its next turn is measured
}  // namespace g_attend

// A goroutine whose G::home_depth has come to this value stays on its M until it ends.
inline constexpr std::uint8_t home_depth_max = 255;

struct alignas(cache_line_bytes) G {
  // accessed by the owner of the G only, except where a comment says otherwise
  context saved;
  atomic<g_status> status{g_status::idle};  // other threads may read it, as a hint
  atomic<std::uint32_t> references{0};
  G* link = nullptr;    // the next G of the list it is in: see g_list
  stack* on = nullptr;  // the stack it runs on: its own, or that of the goroutine that hosts it
  std::uint64_t id = 0;
  bool is_joinable = false;
  std::uint8_t trace_records = 0;  // how many trace records are about it, modulo 256: see docs/trace-format.md
  // The reasons why the M switches to this goroutine by way of g0 and not by a direct switch. takes_detour tests all of
  // them with one load.
  struct {
    bool is_locked = false;           // lock_os_thread has locked it to its thread: see sched/own_thread.h
    std::uint8_t is_timed : 1 = 0;    // the time that it waits for its turn is measured: see begin_ready_time
    std::uint8_t is_scanned : 1 = 0;  // it was readied while sysmon looked at its stack: see await_scan
    std::uint8_t unused : 6 = 0;
  } detour;
  bool is_at_home = false;            // it can continue only on the thread that it is on: see sched/home.h
  std::uint16_t blocking_depth = 0;   // the number of blocking() scopes that it is in
  atomic<std::uint8_t> attention{0};  // bits of g_attend, written by the owner and by sysmon, read by the waker
  wait_reason waits_for = wait_reason::none;
  wake_race race;  // for waits that several wakers may end
  bool is_main : 1 = false;
  bool is_hosted : 1 = false;        // it runs on its joiner's stack
  bool is_exiting : 1 = false;       // goexit is unwinding its stack
  bool is_call_timed : 1 = false;    // the announced call that it is in is measured, since waits_since_ns
  bool is_call_long : 1 = false;     // and was declared long
  atomic<bool> was_orphaned{false};  // its run is over, and the record exists only because a handle refers to it
  // The reasons why it is locked or at home, counted apart. It is neither when both are 0, except that the G of a
  // foreign thread is always locked.
  std::uint8_t home_depth = 0;         // calls and locks of the C library; home_depth_max: not counted any further
  std::uint16_t lock_depth = 0;        // calls of lock_os_thread that have not been undone
  std::int64_t runnable_since_ns = 0;  // valid if detour.is_timed is set

  // written when the goroutine is created, read by its first run
  detail::task task;

  // rarely used fields
  atomic<std::uintptr_t> join{join_pending};
  void* wake_parameter = nullptr;  // what the waker passes to the goroutine that it wakes
  void* locals = nullptr;          // the values of thrum::local<T>
  char* name = nullptr;            // set by this_goroutine::set_name
  // The only M on which it may continue: it is locked to that M or at home there, or that M's thread sleeps in its
  // frames. nullptr: any M may run it. detour.is_locked tells whether the goroutine is locked.
  M* only_m = nullptr;
  void* exit = nullptr;  // the unwinding that goexit started
  // When the wait began: exactly, if it waits for a mutex (written by the goroutine). Otherwise, with g_attend::aged, a
  // time by which it had begun (written by sysmon). If is_call_timed is set: when the call began.
  atomic<std::int64_t> waits_since_ns{0};
  // sysmon only: the sp at which it was parked when sysmon last looked at its stack
  char const* scavenged_at = nullptr;

  static G& of(detail::task& its_task) noexcept {
    return *reinterpret_cast<G*>(reinterpret_cast<char*>(&its_task) - offsetof_task());
  }

  // Changes the status, naming both ends. A G has one owner in every state, so a relaxed store is enough. The
  // publication that follows (a queue's release, or a lock) orders it for the next owner.
  void transition(g_status from, g_status to) noexcept {
    if constexpr (debug_checks) check_transition(from, to);
    status.store(to, relaxed);
  }

  // Whether it continues on its present M, whatever it waits for.
  [[nodiscard]] bool keeps_its_m() const noexcept { return detour.is_locked || is_at_home; }

  // Called by the waker that took it out of its wait queue and is about to put it into a run queue. The waker may hold
  // a lock, so this function never waits.
  void end_wait() noexcept {
    transition(g_status::waiting, g_status::runnable);
    signal_fence();
    if (attention.load(acquire) != 0) [[unlikely]]  // pairs with parked_stacks
      end_attended_wait();
  }

  // Called without a lock by the M that is about to run it. Waits until sysmon has finished with its stack.
  void await_scan() noexcept {
    if (detour.is_scanned != 0) [[unlikely]]
      await_end_of_scan();
  }

  // relaxed: a foreign thread may call this while the run ends. Such a thread learns of the end in another way, or
  // sleeps for good.
  [[nodiscard]] bool is_orphan() const noexcept { return was_orphaned.load(relaxed); }

  [[nodiscard]] bool takes_detour() const noexcept { return std::bit_cast<std::uint16_t>(detour) != 0; }

  // stats::ready_to_run is measured on a small sample of goroutines. The sample is marked in words that are read anyway
  // when a goroutine becomes runnable (attention) and when it is run (detour), so it costs the other goroutines
  // nothing.
  //
  // Called by the owner when the goroutine becomes runnable. The M that runs it ends the measurement (execute). A
  // locked goroutine is not measured, because its thread has to be woken first.
  void begin_ready_time() noexcept;
  // Called by the owner when the goroutine leaves its P. Measures its next turn, which begins at once if the goroutine
  // is already runnable.
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
