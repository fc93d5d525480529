// M: a machine: an OS thread that runs goroutines while it holds a P (S02).
#pragma once

#include "arch/context.h"
#include "arch/thread_globals.h"
#include "core/entry.h"
#include "core/g.h"
#include "os/note.h"
#include "os/thread.h"
#include "stack/signal_stack.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct P;
struct Sched;

// What must happen after a goroutine has left its stack: unlock the queue it waits in, publish it, free it. The one who
// arrives runs it, on its own stack: earlier, another M could resume the goroutine while it is still leaving.
using commit_step = void (*)(M& m, G& left, void* argument) noexcept;

// Reasons for an M to look up when it enters or leaves the runtime: bits of M::attention.
namespace m_attend {
inline constexpr std::uint32_t away = 1;    // it has no P: its goroutine is in a system call (sys/blocking.h)
inline constexpr std::uint32_t visits = 2;  // it came back from there only to use the runtime
inline constexpr std::uint32_t pause = 4;   // its goroutine is to make room for others (sys/preempt.h)
// sysmon is about to take its P, since the thread sleeps in the kernel (sys/unannounced.h). As long as this is set, the M
// keeps its P by clearing it;
inline constexpr std::uint32_t offered = 8;
inline constexpr std::uint32_t being_taken = 16;  // from here on it is too late, and soon it is away
inline constexpr std::uint32_t unannounced = 32;  // with away: the call was not announced
}  // namespace m_attend

// Whose code a goroutine that is to make room for others may be stopped in: here, and in what stands before it. As a rule in the
// program's alone (T03).
enum class pause_in : std::uint8_t { program, vdso, libc };

// What is to be seen to when a goroutine is made on an M: bits of M::at_start.
namespace m_start {
inline constexpr std::uint8_t foreign = 1;  // its thread kept the run until the callable was in the record
inline constexpr std::uint8_t timed = 2;    // how long the next one waits for its first turn is measured
}  // namespace m_start

// How a goroutine leaves an M when it parks, yields or ends.
enum class leaving : std::uint8_t {
  directly,    // it chooses its successor itself
  through_g0,  // it does not: the M runs only main, or only for a moment, or is about to end
  in_place,    // it is locked to the thread, and takes it along (sched/own_thread.h)
};

struct M {
  M(Sched& owner, int number) noexcept : sched(owner), id(number) {}

  [[nodiscard]] leaving usual_leaving() const noexcept {
    return id == 0 || stands_in || mask_was_changed ? leaving::through_g0 : leaving::directly;
  }

  // fixed once it runs
  Sched& sched;
  int const id;  // 0: the thread that called run(); it runs only the main goroutine
  int tid = 0;
  os::thread thread{};
  atomic<bool> thread_exists{false};  // thread is valid
  rt::signal_stack signal_stack;
  thread_globals globals;

  // this thread only
  context g0;                       // the scheduling stack, while a goroutine runs
  G* current = nullptr;             // nullptr on g0
  bool current_was_handed = false;  // it came from runnext: whoever ran before has readied it
  P* p = nullptr;
  atomic<bool> in_runtime{false};      // T01: no malloc, no user code, no preemption
  atomic<std::uint32_t> attention{0};  // looked at whenever the mark above is set or cleared: see m_attend
  std::uintptr_t call_site = 0;        // where its goroutine announced the call it is in; 0: not known
  atomic<P*> away_from{nullptr};  // in a system call: the P that may still be there on the way back; claimants clear it
  bool is_foreign = false;        // of a thread that thrum did not make: see sys/foreign.h
  atomic<bool> run_is_over{false};     // of such a thread: it must not enter
  atomic<std::uint32_t> keeps_run{0};  // of such a thread: it is outside, and needs the memory of its run
  std::uint8_t at_start = 0;           // see m_start
  bool stands_in = false;         // it was called to bring that one away from there, and to go back to rest afterwards
  bool mask_was_changed = false;  // its goroutine has left it another signal mask than Ms have: see sys/preempt.h
  leaving leaves = usual_leaving();  // its current goroutine does
  bool ends_with_goroutine = false;  // the one that ended here was locked
  bool spinning = false;             // looks for work and is counted in sched.spinning
  std::int64_t spins_since_ns = 0;   // what went before is in its P's counter; 0: it has not begun
  std::uint32_t patience = 0;        // how many more times it searches before it sleeps: see find_runnable
  std::uint32_t polls_in_vain = 0;   // looks at the network in a row that found nothing: see find_runnable
  std::uint32_t poor_steals = 0;     // in a row, that kept it busy for hardly longer than they took: see steal.cpp
  std::int64_t stole_at_ns = 0;
  std::int64_t busy_since_ns = 0;  // without a sleep, as far as events go; 0: it has slept. See sched/poll.cpp
  G* handed = nullptr;             // what g0 is to run next, chosen by the goroutine that left
  bool handed_inherits = false;    // and whether it inherits the time slice
  G* brought = nullptr;            // comes with next_p: it has left a thread that is home to others
  bool owes_watch = false;  // it may leave timers behind that nobody watches, if it finds other work: see timekeeper.h
  bool timers_are_due = false;  // it was the timekeeper, and its time has come: on some P something is due
  // Goroutines that are at home here: see sched/home.h.
  std::uint32_t residents = 0;        // also read by others, under sched.lock, while it rests
  bool home_was_last = false;         // what ran last came out of home_queue
  std::uint8_t turns_past_inbox = 0;  // since somebody came into home_inbox whom it does not look for: see take_at_home
  g_list home_queue;                  // of the residents, runnable: so are those in home_inbox
  commit_step commit = nullptr;
  G* committed = nullptr;
  void* commit_argument = nullptr;

  // by the M that stops the others: it ends the run, or its goroutine has called exit()
  atomic<std::int64_t> cpu_seen_at_end_ns{-1};  // what the thread had used of a CPU at that M's last look

  // written by sysmon; those about a thread without a P (sys/without_p.h) are read by it alone
  std::int64_t cpu_seen_ns = -1;                    // what the thread had used of a CPU at the last look
  std::int64_t cpu_seen_at_ns = 0;                  // when that was
  bool ran_when_seen = false;                       // it was on a CPU then, or waited for one
  int asked_without_p = 0;                          // so many times to queue for a P
  std::int64_t stuck_since_ns = 0;                  // it sleeps, and residents are runnable; 0: it is not so
  atomic<pause_in> pause_reach{pause_in::program};  // where it may be stopped
  atomic<std::uint32_t> pause_tick{0};              // the slice, by its P's schedtick, that m_attend::pause is about

  // written by its signal handler, read by sysmon: see sys/slices.h
  atomic<std::uint32_t> pauses_answered{0};  // how often the handler has run
  atomic<std::uint8_t> makes_calls{0};  // not 0: of late the handler found the thread on its way out of a system call

  // written by anybody
  atomic<std::uint32_t> ready_at_home{0};  // how many stand in home_queue and home_inbox

  // written by whoever starts it, before the note is woken
  P* next_p = nullptr;
  bool must_end = false;
  bool is_let_go = false;  // and its record is kept for another thread
  os::note park;

  // under sched.lock
  g_list home_inbox;
  bool is_called = false;  // it rests, and residents are runnable: it stands in the global queue for a P
  M* call_link = nullptr;
  bool is_idle = false;  // it is in the idle list
  M* idle_link = nullptr;
  std::int64_t idle_since_ns = 0;
  M* all_link = nullptr;
  std::uint64_t turn = 0;             // in the global queue, its own or its goroutine's: see global_run_queue.h
  bool is_paused = false;             // it sleeps in the middle of user code, until its goroutine's turn
  bool is_paused_in_libc = false;     // and may hold a lock there that everybody needs
  void const* interrupted = nullptr;  // where it was then: the handler's ucontext
  bool rests_in_place = false;        // its locked goroutine is parked, and it sleeps until that runs again
  bool is_unborn = false;             // its thread has not come to next_p yet, which can still be taken from it
};

}  // namespace thrum::rt
