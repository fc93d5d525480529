// Stopping the world, and changing the number of Ps (S23; Go's stopTheWorld and procresize).
//
// A P is stopped by whoever holds it, under sched.lock, and belongs to nobody then:
//
//   idle                    by the one who stops the world
//   in a system call        likewise, or by sysmon; its M will find none when it comes back, and wait
//   running, on g0          by its M, in find_runnable, which then rests among the idle
//   running, in user code   by its M, in the signal's handler (sys/preempt.h): sysmon sends the signal at once
//   in somebody's hands     by hand_off
//   given to an M whose     by the one who stops the world: the thread's birth may need a lock of the C library that somebody
//   thread is not there     holds who was stopped there
//
// So a stop takes some hundred microseconds, whatever the goroutines do; but for those that are in the C library, where they are
// not interrupted for some time, and with the signal off, where a loop without calls is waited for.
//
// The one who stops keeps his own P, and must not switch, allocate or call user code until he starts the world again: others may
// have been stopped with a lock in their hands (T01). One at a time; for_each_proc is the same one.
#pragma once

#include "core/sched.h"

#include <memory>
#include <vector>

namespace thrum::rt {

class [[nodiscard]] stopped_world {
 public:
  // On a goroutine, inside the runtime; if others are stopping the world it waits, and may itself be stopped by them. If the run
  // is over it does not return.
  explicit stopped_world(M& m) noexcept;
  // On a thread that is no M, for a report: stops what can be stopped within so long.
  stopped_world(Sched& s, std::int64_t patience_ns) noexcept;
  ~stopped_world();
  stopped_world(stopped_world const&) = delete;
  stopped_world& operator=(stopped_world const&) = delete;

  // Nobody goes on who has stopped.
  [[nodiscard]] bool is_stopped() const noexcept { return holds_lock_; }
  // Everybody has stopped.
  [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }

 private:
  Sched& sched_;
  std::int64_t const began_ns_;
  bool holds_lock_ = true;
  bool is_complete_ = true;
};

// For the end of the run, on a thread without a P, as long as sysmon and the thread maker are there: waits until nobody stops the
// world, for `patience_ns` at most, and from then on nobody can. False: somebody is held up, by a loop that is never interrupted.
[[nodiscard]] bool keep_world_running(Sched& s, std::int64_t patience_ns) noexcept;

// --- for those who are to stop ---

[[nodiscard]] inline bool is_to_stop(P const& p) noexcept {
  return (p.attention.load(relaxed) & attend::stop_world) != 0;
}

// Under sched.lock: whether p, which the caller holds, was stopped; then it is not his any more.
[[nodiscard]] bool stop_if_asked_locked(Sched& s, P& p) noexcept;

// On g0, with a P that is to stop. False: the run is over.
[[nodiscard]] bool stop_on_g0(M& m) noexcept;

// On a goroutine, inside the runtime: takes sched.safe_point_lock, and gives way to others who have it. Does not return if the run
// is over.
void acquire_world(M& m) noexcept;

// --- the number of Ps ---

using fresh_procs = std::vector<std::unique_ptr<P>>;

// Ps that would be needed for so many; allocates.
[[nodiscard]] fresh_procs make_procs(Sched& s, int count);

// With the world stopped: from now on there are `count`. What the Ps that go have in their queues goes to the head of the global
// queue, in order; their timers go to m's P. False, and nothing has changed: no memory.
[[nodiscard]] bool resize(M& m, int count, fresh_procs& fresh) noexcept;
// The same on a thread that is no M, with everybody stopped; the timers go to the first P.
[[nodiscard]] bool resize(Sched& s, int count, fresh_procs& fresh) noexcept;

}  // namespace thrum::rt
