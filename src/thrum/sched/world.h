// Stopping the world, and changing the number of Ps (S23; Go's stopTheWorld and procresize).
//
// Each P is stopped under sched.lock by the thread that holds it. A stopped P belongs to no M:
//
//   idle                    by the thread that stops the world
//   in a system call        by the same thread, or by sysmon; its M finds no P when it comes back, and waits
//   running, on g0          by its M, in find_runnable; the M then rests among the idle Ms
//   running, in user code   by its M, in the signal handler (sys/preempt.h); sysmon sends the signal at once
//   being handed over       by hand_off
//   given to an M whose     by the thread that stops the world, because making the thread may need a lock of the C
//   thread does not exist   library that a goroutine holds which was stopped there
//
// So a stop takes some hundred microseconds, whatever the goroutines do, with two exceptions. Goroutines inside the C
// library are not interrupted there for some time. With the signal off, a stop waits for loops without calls.
//
// The thread that stops the world keeps its own P, and must not switch, allocate or call user code until it starts the
// world again, because others may have been stopped while they held a lock (T01). Only one thread at a time stops the
// world or runs for_each_proc.
#pragma once

#include "core/sched.h"

#include <memory>
#include <vector>

namespace thrum::rt {

class [[nodiscard]] stopped_world {
 public:
  // On a goroutine, inside the runtime. If another thread is stopping the world it waits, and may itself be stopped
  // meanwhile. If the run is over it does not return.
  explicit stopped_world(M& m) noexcept;
  // On a thread that is no M, for a report. It goes before goroutines that want to stop the world. It waits for
  // patience_ns at most for a goroutine that is stopping the world, and then stops what it can within patience_ns.
  stopped_world(Sched& s, std::int64_t patience_ns) noexcept;
  ~stopped_world();
  stopped_world(stopped_world const&) = delete;
  stopped_world& operator=(stopped_world const&) = delete;

  // No P that has stopped goes on.
  [[nodiscard]] bool is_stopped() const noexcept { return holds_lock_; }
  // All Ps have stopped.
  [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }

 private:
  Sched& sched_;
  std::int64_t const began_ns_;
  bool const holds_lock_ = true;
  bool is_complete_ = true;
};

// For the end of the run, on a thread without a P, while sysmon and the thread maker exist: waits until no thread stops
// the world, for at most `patience_ns`, and from then on none can. False: a thread that stops the world is held up by a
// loop that is never interrupted.
[[nodiscard]] bool keep_world_running(Sched& s, std::int64_t patience_ns) noexcept;

// --- for the threads that have to stop ---

// On g0, with a P that has to stop. False: the run is over.
[[nodiscard]] bool stop_on_g0(M& m) noexcept;

// On a goroutine, inside the runtime: takes the right to stop the world (core/world_stop.h), and waits for other
// threads that have it. Does not return if the run is over.
void acquire_world(M& m) noexcept;

// --- the number of Ps ---

using fresh_procs = std::vector<std::unique_ptr<P>>;

// Makes the Ps that are missing for `count` Ps; allocates.
[[nodiscard]] fresh_procs make_procs(Sched& s, int count);

// With the world stopped: changes the number of Ps to `count`. The goroutines in the queues of the removed Ps go to the
// head of the global queue, in order. Their timers go to m's P. False: there is no memory, and nothing has changed.
[[nodiscard]] bool resize(M& m, int count, fresh_procs& fresh) noexcept;
// The same on a thread that is no M, with all Ps stopped. The timers go to the first P.
[[nodiscard]] bool resize(Sched& s, int count, fresh_procs& fresh) noexcept;

}  // namespace thrum::rt
