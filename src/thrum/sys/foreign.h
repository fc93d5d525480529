// Threads that thrum did not make (S38; Go's extra Ms).
//
// Such a thread gets a seat when it first calls the runtime: an M and a G of its own. To the scheduler it is a
// goroutine that is locked to its thread and is in a system call. Each call of the runtime comes back from that system
// call, with a P, and goes away again at its end (sys/blocking.h). To wait, the thread sleeps in place
// (sched/own_thread.h). It counts as a goroutine only while it is inside the runtime, and its thread does not count
// towards max_threads.
//
// Lifetimes. A seat belongs to one run at a time. Its M stands in the list of that run's Ms, and nothing is ever
// removed from that list. When the thread ends, another thread may get the seat during the same run. When the run ends,
// the thread keeps the seat, which is marked as over, and takes it along into the next run. A thread that is about to
// enter the runtime at that moment finds that mark:
//
//   the end of the run                              the thread
//   1. takes the M from the thread, and marks       1. reads its M
//      the seat as over                             2. sets its mark, and looks whether the seat is over
//   2. makes all threads pass a barrier             3. if it is over, clears its mark and does not enter. A call that
//                                                      would have to wait sleeps for good.
//   3. if the thread's mark is set, or the thread
//      has not gone away yet, the run's memory
//      stays for good
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

// From this call until the end of the run, foreign threads can get a seat. One run at a time admits threads.
void admit_threads(Sched& s) noexcept;

// Enters the run `epoch`. The caller is no goroutine of that run. It is on a foreign thread, or on a goroutine that an
// earlier run has left behind. Such a goroutine visits the run: its thread takes a seat like a foreign thread, and
// gives the seat up when it leaves the runtime. It must not park meanwhile.
//
// Returns the M of the seat, with the mark set. Returns nullptr if that run is over. If the run is coming to its end
// and gives out no seats, waits for its end.
[[nodiscard]] M* enter_from_outside(std::uint32_t epoch) noexcept;

// m belongs to the calling thread, which is foreign and is about to call the runtime. The thread has set its mark.
// True: m has a P. False: the run is over, and the mark is clear. Does not return if a goroutine has called exit(),
// because no thread gets a P any more and the run does not end either.
[[nodiscard]] bool comes_in_from_outside(M& m) noexcept;
// The run of m, which belongs to the calling foreign thread, is over, and the thread would have to wait there.
[[noreturn]] void sleep_outside(M& m) noexcept;

// The reverse, at the end of the call: gives the P up and clears the mark. Ends the visit, if this was one.
void go_outside(M& m) noexcept;

// The calling thread has left the runtime. If it was there for a visit, its goroutine is in its own run after this.
void end_visit() noexcept;

// While it lives, a goroutine that its run has left behind is to the runtime what its thread would be if thrum had not
// made it: it gets a seat in the run that is alive, or none. So `go` starts a goroutine in that run. In its own run,
// the goroutine would not come back from `go`, or would start a goroutine that never runs. On other threads, and on
// goroutines of the run that is alive, it does nothing.
class [[nodiscard]] as_outsider {
 public:
  as_outsider() noexcept;
  ~as_outsider();
  as_outsider(as_outsider const&) = delete;
  as_outsider& operator=(as_outsider const&) = delete;

 private:
  M* const own_;
};

// Ends the admission of threads. The threads that are outside the runtime lose their M. `patience_ns` says how long the
// call waits for threads that are about to leave the runtime or have got what they waited for; goroutines run
// meanwhile. Returns how many threads are inside the runtime after that. These stay there for good, and need the run's
// memory.
[[nodiscard]] int dismiss_threads(Sched& s, std::int64_t patience_ns) noexcept;
// Called after end_all_ms. Waits for threads that are at work inside the runtime, or have just been given a P there,
// because goroutines that ran after the dismissal may have woken them. The next run must not begin while they change
// objects in the name of this one (sync/stamp.h).
void wait_for_threads_inside(Sched& s) noexcept;

// After end_all_ms: how many foreign threads wait inside the runtime. They will never be woken.
[[nodiscard]] int threads_left_waiting(Sched& s) noexcept;

// How many foreign threads are in a call of the runtime, not counting the calling thread.
[[nodiscard]] int threads_inside(Sched& s) noexcept;

// The function that boot puts into m_hooks. Gives a seat to the calling thread, which has no M. Returns nullptr if no
// run is alive or no seat can be had.
[[nodiscard]] M* seat_thread() noexcept;

}  // namespace thrum::rt
