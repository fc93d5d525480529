// M: a machine. It is an OS thread that runs goroutines while it holds a P (S02).
#pragma once

#include "arch/context.h"
#include "arch/thread_globals.h"
#include "base/written_by.h"
#include "core/entry.h"
#include "core/g.h"
#include "core/pause_request.h"
#include "core/residents.h"
#include "core/sightings.h"
#include "core/status.h"
#include "os/note.h"
#include "os/thread.h"
#include "stack/signal_stack.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct P;
struct Sched;
class global_run_queue;
class idle_state;
class m_pool;
class m_queue;

// What must happen after a goroutine has left its stack: unlocking the queue it waits in, publishing it, or freeing it.
// The goroutine or g0 that the thread switches to runs it, on its own stack. If it ran earlier, another M could resume
// the goroutine while it is leaving its stack.
using commit_step = void (*)(M& m, G& left, void* argument) noexcept;

// Requests and states that an M handles when it enters or leaves the runtime: bits of M::attention.
namespace m_attend {
inline constexpr std::uint32_t away = 1;    // it has no P, because its goroutine is in a system call (sys/blocking.h)
inline constexpr std::uint32_t visits = 2;  // it came back from the call only to use the runtime
inline constexpr std::uint32_t pause = 4;   // its goroutine is to yield, or to be paused (sys/preempt.h)
// sysmon is about to take its P, because the thread sleeps in the kernel (sys/unannounced.h). While this bit is set,
// the M can keep its P by clearing the bit.
inline constexpr std::uint32_t offered = 8;
inline constexpr std::uint32_t being_taken = 16;  // it is too late to keep the P, and the M is away in a moment
inline constexpr std::uint32_t unannounced = 32;  // with away: the call was not announced
}  // namespace m_attend

// What an M has to do in addition when it makes a goroutine: bits of M::at_start.
namespace m_start {
inline constexpr std::uint8_t foreign = 1;  // its thread keeps the run until the callable is in the record
inline constexpr std::uint8_t timed = 2;    // the time that the next goroutine waits for its first turn is measured
}  // namespace m_start

// How a goroutine leaves an M when it parks, yields or ends.
enum class suspend_mode : std::uint8_t {
  directly,  // it chooses its successor itself
  // g0 chooses, because the M runs only main, is a stand-in, has a changed signal mask, or is about to end
  through_g0,
  in_place,  // it is locked to the thread, which sleeps with it (sched/own_thread.h)
};

// The place of an M in an m_list or an m_chain. Only these classes write it.
class m_link {
  template <m_link M::*>
  friend class m_list;
  M* next_ = nullptr;
};
class m_links {
  template <m_links M::*>
  friend class m_chain;
  M* next_ = nullptr;
  M* back_ = nullptr;
};

// A field of type written_by is written by the class that it names, and by no other code. A plain field is written by
// the M's own thread, unless its comment names another writer.
struct M {
  M(Sched& owner, int number) noexcept : sched(owner), id(number) {}

  [[nodiscard]] suspend_mode usual_suspend_mode() const noexcept {
    return id == 0 || stands_in || mask_was_changed ? suspend_mode::through_g0 : suspend_mode::directly;
  }

  // fixed
  Sched& sched;
  int const id;             // 0: the thread that called run(); it runs only the main goroutine
  bool is_foreign = false;  // it belongs to a foreign thread: see sys/foreign.h

  // Written by the thread when it begins, and by the thread maker before that and after its end.
  int tid = 0;
  os::thread thread{};
  atomic<bool> thread_exists{false};  // thread is valid
  rt::signal_stack signal_stack;
  thread_globals globals;

  // --- accessed by this thread only, except where a comment says otherwise ---

  // the switch
  context g0;                       // the scheduling stack, while a goroutine runs
  G* current = nullptr;             // nullptr on g0
  bool current_was_handed = false;  // it came from runnext, because the goroutine that ran before it readied it
  P* p = nullptr;
  // The mark (T01): no malloc, no user code and no preemption while it is set. Claimants and sysmon read it.
  atomic<bool> in_runtime{false};
  // Bits of m_attend, read whenever the mark is set or cleared. Also written by sysmon and by this thread's signal
  // handler.
  atomic<std::uint32_t> attention{0};
  commit_step commit = nullptr;
  G* committed = nullptr;
  void* commit_argument = nullptr;
  G* handed = nullptr;           // what g0 runs next, chosen by the goroutine that left
  bool handed_inherits = false;  // whether that goroutine inherits the time slice
  // Its goroutine has left it a signal mask that differs from the one that Ms have: see sys/preempt.h.
  bool mask_was_changed = false;
  bool ends_with_goroutine = false;  // the goroutine that ended here was locked, so the thread ends too
  // It is a stand-in: it was started to take over a goroutine that leaves an M with residents, and rests afterwards.
  written_by<m_pool, bool> stands_in;
  // How its current goroutine leaves it. Also written by m_pool, together with stands_in.
  suspend_mode suspend_by = usual_suspend_mode();

  // system calls and foreign threads
  std::uintptr_t call_site = 0;        // where its goroutine announced the call it is in; 0: not known
  atomic<P*> away_from{nullptr};       // in a system call: the P that it may find on its return; a claimant clears it
  std::uint8_t at_start = 0;           // see m_start
  atomic<std::uint32_t> keeps_run{0};  // foreign thread: it is outside of the runtime, and needs the memory of its run
  // Foreign thread: it must not enter the runtime. Written by the thread that ends the run.
  atomic<bool> run_is_over{false};

  // the search for work
  written_by<idle_state, bool> spinning;  // it searches for work, and is counted in Sched::idle
  // It must have the timers watched before it runs other work: see timekeeper.h. Also written by idle_state::spin_for.
  bool watch_check_pending = false;
  bool timers_are_due = false;      // it was the timekeeper, and a timer is due on some P
  std::int64_t spins_since_ns = 0;  // the time before that is in its P's counter; 0: it has not begun
  std::uint32_t patience = 0;       // how many more times it searches before it sleeps: see find_runnable
  std::uint32_t polls_in_vain = 0;  // searches in a row with no event of the network: see find_runnable
  std::uint32_t poor_steals = 0;    // steals in a row that kept it busy for hardly longer than they took: see steal.cpp
  std::int64_t stole_at_ns = 0;     // when its last steal was; 0: it has been accounted for
  // since when it has handled events without a sleep; 0: it has slept. See sched/poll.cpp
  std::int64_t busy_since_ns = 0;

  // It sleeps with the mark set, perhaps for good, and changes no object when it wakes up. The thread that ends the run
  // reads this (is_active_inside).
  atomic<bool> sleeps_inside{false};
  // The place where it was interrupted may hold a lock of the C library that other threads need. Read under sched.lock.
  bool is_interrupted_in_libc = false;
  void const* interrupted = nullptr;  // where it was paused: the handler's ucontext

  // --- classes that say which thread may call what ---

  rt::residents residents;   // the goroutines that are at home here
  pause_request pause;       // sysmon and this thread's signal handler
  seen_without_p without_p;  // sysmon
  os::note wake_note;

  // --- written by other threads, and by this one, under sched.lock ---

  // The P that this M was promised (m_pool::promise). It takes the P when its note was woken or its thread has begun.
  written_by<m_pool, P*> next_p;
  // The goroutine that comes with the P. It has left an M that is home to others, or has found no M to move to.
  written_by<m_pool, G*> brought;
  // When another thread has woken this thread to give it a P or to end it, this thread may read its status without the
  // lock, because no other thread changes it then. A timekeeper that was roused is awake and can be taken, so it reads
  // its status under the lock.
  written_by<m_pool, m_status> status;
  std::uint8_t trace_records = 0;     // how many trace records tell a change of its status, modulo 256 (core/trace.cpp)
  written_by<m_queue, bool> wants_p;  // it stands in the global queue for a P
  written_by<global_run_queue, std::uint64_t> turn;  // its turn there: see global_run_queue.h
  written_by<m_pool, std::int64_t> idle_since_ns;

  // the lists of core/m_list.h
  written_by<m_pool, M*> all_link;  // all Ms
  m_links idle_links;               // idle Ms
  m_links queue_links;              // Ms that want a P, in the global queue
  m_link order_link;                // Ms whose threads have to be made
  m_link ended_link;                // Ms whose threads end
  m_link threadless_link;           // Ms without a thread
  m_link end_link;                  // Ms that are told to end
  m_link join_link;                 // thread maker only: Ms whose threads it joins

  // written by the thread that stops all others, because it ends the run or because its goroutine has called exit()
  atomic<std::int64_t> cpu_seen_at_end_ns{-1};  // the CPU time of this thread at that thread's last look

  // To be called like a read of `status`.
  [[nodiscard]] bool is_paused() const noexcept {
    return status == m_status::paused || status == m_status::paused_in_libc;
  }
  [[nodiscard]] bool is_to_end() const noexcept { return status == m_status::dismissed || status == m_status::let_go; }
  // Whether it has no P and waits to be given one, or was roused: the timekeeper that was woken to look again.
  [[nodiscard]] bool rests() const noexcept {
    return status == m_status::idle || status == m_status::timekeeper || status == m_status::roused;
  }
};

// Whether g can go on only in the frames in which its thread is, asleep or not. False for a resident that has left its
// stack.
[[nodiscard]] inline bool is_on_own_thread(G const& g) noexcept {
  M const* const m = hint_of(g.only_m);
  return m != nullptr && hint_of(m->current) == &g;
}

}  // namespace thrum::rt
