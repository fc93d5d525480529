// Goroutines that are at home on an M: they continue on the M on which they parked (T08).
//
// A call of the C library may be made to park its goroutine, but compiled code keeps thread-local addresses across the
// call, above all that of errno, whose function is declared const. So for the length of such a call the goroutine is
// *at home* on its M: whatever it waits for, it continues there and nowhere else. It leaves its stack when it parks,
// and the M runs other goroutines meanwhile, so thousands of them share a few threads. Decision 014 describes the
// alternatives.
//
// Invariants:
//  1. G::only_m is the home, from the beginning of the call to its end. A goroutine becomes or ceases to be a resident
//     of an M only while it runs on that M. Calls nest, and the reasons that keep a goroutine at home need not end in
//     the order in which they began: a lock of the C library that belongs to the thread keeps its goroutine there from
//     locking to unlocking (src/posix_locks). So these reasons are counted. A goroutine that ends is not at home any
//     more.
//  2. A resident stands in no queue of a P, where other Ms could take it. Once readied, by any thread, it goes to its
//     M's own queue, which only that thread uses, or to its inbox, under sched.lock (core/residents.h). The queue is
//     filled from the inbox when it is empty, and also every few turns, because the queue may always contain residents
//     that yield until a goroutine from the inbox has done something.
//  3. A goroutine that wants to enter an announced system call, or to be locked to its thread, first moves to another
//     thread, which is no goroutine's home, if its M is home to others (make_way). The M that it leaves rests then, and
//     can be woken. There are two exceptions. A resident does not move: in an announced call it keeps the thread, and a
//     lock only adds a reason to its stay, so the thread goes on to run the other residents while it is parked. No
//     goroutine moves if no other thread can be had. If a thread is kept by an announced call, sleeps in the kernel
//     without an announcement or computes, its residents wait until that is over. If the call waits for one of them,
//     all of them wait for good, and sysmon reports that (sys/without_p.h).
//  4. An M that has residents is not let go, and does not end with a goroutine that was locked there. M0 is no
//     goroutine's home, because it runs only main. A goroutine that is to be at home on M0, or inside an announced
//     call, is locked to the thread for that time.
//
// Why no wake-up is lost. The table of residents (each numbered step is one critical section under sched.lock):
//
//   another thread that readies a resident          the resident's M
//   1. puts the resident into the inbox, and        1. when its search has found nothing (give_up_p_unless_wanted):
//      checks whether the M rests. If so, the M        gives its P up, unless a resident is runnable
//      gets an idle P and is woken. If no P is      2. when it is about to rest (takes_p_for_residents): rests if no
//      idle, the M is put into the global queue        resident is runnable. Otherwise it takes an idle P; if no P
//                                                      is idle, it is put into the global queue and rests
//
// The M checks residents::any_runnable under sched.lock twice: when it gives its P up and when it is about to rest. A
// thread that readies a resident between these two finds an M that does not rest, and does nothing more, because the
// second check sees the resident. If the M's own thread readies the resident, no lock is needed, because that thread
// makes both checks later.
//
// An M with runnable residents and no P stands in the global queue, as an M that is paused does (M::wants_p), until
// another M gives it a P. It is work like any other, so no P goes idle beside it (wake.h), and the M that takes it from
// the queue gives it its own P. It leaves the queue when it gets a P in another way, when it is roused as the
// timekeeper, because it then comes to step 2 by itself, and when the run ends.
//
// Why a P does not go round among the Ms that want one for their residents. An M that gives its P to such an M may
// itself want one a moment later. So the turn in which the M was found in the queue ends with that (P::tick), and the M
// that gets the P looks at its residents before it looks at the global queue.
#pragma once

#include "core/sched.h"
#include "sched/search_result.h"

namespace thrum::rt {

// stay_home: from here on m's goroutine continues on this thread only, until leave_home was called as many times as
// stay_home. Called on a goroutine, not on a foreign thread, inside the runtime. A goroutine that is locked stays
// locked for one more reason, which unlock_os_thread does not undo. A goroutine that reaches a count of home_depth_max
// stays until it ends.
void stay_home(M& m) noexcept;
void leave_home(M& m) noexcept;
// One of the reasons that keep m's goroutine on m has ended. If it was the last one, the goroutine is not locked and
// not at home any more.
void end_stay_without_reason(M& m) noexcept;
// Keeps m's goroutine on this thread for good, whatever else keeps it there or lets it go. The goroutine has called
// exit() (sched/exit_stage.h).
void stay_for_good(M& m) noexcept;

// g, the current goroutine of m, has ended, so it no longer belongs to a thread. If it was locked to m, m's thread ends
// with it as soon as the thread comes to g0. M0's thread does not end, because it belongs to the caller of run. A
// thread that is home to other goroutines does not end either: g was locked there at the limit of threads.
void end_lock(M& m, G& g) noexcept;
// For the length of a call: wherever the goroutine parks in it, it continues on this thread. Used in user code. On a
// thread that runs no goroutine it does nothing. It must be destroyed on the goroutine that made it.
class [[nodiscard]] at_home {
 public:
  at_home() noexcept;
  ~at_home();
  at_home(at_home const&) = delete;
  at_home& operator=(at_home const&) = delete;

 private:
  bool is_at_home_ = false;
};

// Sends g, which is at home and runnable, to its M. Called by sched/runnable.* only. `by` is the M of the calling
// thread. It may be nullptr if that thread is not the thread of g's M.
void send_home(push_key key, M* by, G& g) noexcept;

// Takes the next resident that can run. If other goroutines wait on the P, it does so only every other time. On g0,
// with a P.
[[nodiscard]] search_result take_at_home(M& m) noexcept;

// --- under sched.lock ---

// Called when m is about to rest, without a P. True: residents are runnable, and m has taken a P for them.
[[nodiscard]] bool takes_p_for_residents(Sched& s, M& m) noexcept;

}  // namespace thrum::rt
