// Goroutines that come home: they go on where they parked (T08).
//
// A call of the C library may be made to park its goroutine, but compiled code keeps thread-local addresses over it: that of errno
// above all, whose function is declared const. So for the length of such a call the goroutine is *at home* on the M it is on:
// whatever it waits for, it goes on there and nowhere else. It leaves its stack when it parks, and the M runs others meanwhile:
// thousands share a few threads. Decision 014 says what was weighed.
//
// Invariants:
//  1. G::locked_to is the home, from the begin of the call to its end. Only who runs on an M can become its resident, or cease to be.
//     Calls nest, and what keeps it there need not end in the order in which it began: a lock of the C library whose owner is the thread
//     keeps it from the moment it has it until it lets it go (src/posix_locks). So they are counted. A goroutine that ends is at home no more.
//  2. One that is at home stands in no queue of a P, where others could take it. Once readied, by whomsoever, it goes to its M's
//     home_queue, which is that thread's own, or to its home_inbox, under sched.lock. The queue is filled from the inbox when it is empty, and every
//     few turns: some may be in there always, who yield until one from the inbox has done something.
//  3. An M never enters a system call that was announced, and is never locked to a goroutine, while it is home to others: whoever wants
//     that goes to another thread first (make_way), which is not yet his: the M rests then, and can be woken. Where a
//     thread sleeps in the kernel unannounced, is kept by a computation, or there is no other thread to be had, those at home there wait
//     until it is over.
//  4. An M that is home to somebody is not let go, and does not end with a goroutine that was locked there. M0 is nobody's home, since it runs only main: who is to be at home there, or
//     inside a call that was announced, is locked to the thread for that time.
//
// Why no wake-up is lost. Everything happens under sched.lock:
//
//   whoever readies it                              its M
//   1. puts it into the inbox                       1. looks at its number of runnable residents
//   2. looks whether the M rests: if so it gets     2. if there is none, gives its P up; and later, if there still
//      an idle P and is woken; without one it          is none, rests. If there is one and it has no P, it takes an
//      is called, and stands in the global queue       idle one, or is called and rests
//
// Each side's steps are one critical section, so the second sees what the first did. An M that neither rests nor holds a P is on its
// way to 2. A call is work in the global queue like any other: no P goes idle beside it (wake.h), and whoever meets it gives his
// P to that M. It is withdrawn when the M gets a P in another way.
//
// Why a P does not go round among those that are called. Who gives his P to one of them may be called himself a moment later. So the turn
// in which a call was found is over with that (P::tick): who comes with the P looks at his residents before he looks at the next call.
#pragma once

#include "core/sched.h"
#include "sched/schedule.h"

namespace thrum::rt {

// From here on m's goroutine goes on on this thread only, until as many of the second were called as of the first: on a goroutine that is no
// thread from outside, inside the runtime. One that is locked already is locked once more, whatever unlock_os_thread does. With 255 at once it is at
// home until it ends.
void stay_home(M& m) noexcept;
void leave_home(M& m) noexcept;
// The same for good, whatever else keeps it there or lets it go: its goroutine has called exit() (sched/exit_stage.h).
void stay_for_good(M& m) noexcept;
// g, the current goroutine of m, has ended.
void end_home(M& m, G& g) noexcept;

// For the length of a call: wherever the goroutine parks in it, it goes on on this thread. In user code; nothing happens on threads
// that are no goroutine's. It must end where it began: on the same goroutine.
class [[nodiscard]] at_home {
 public:
  at_home() noexcept;
  ~at_home();
  at_home(at_home const&) = delete;
  at_home& operator=(at_home const&) = delete;

 private:
  bool is_ = false;
};

// g, which is at home and runnable, goes there. On the thread of `by`; nullptr: it has none, or none that matters.
void send_home(M* by, G& g) noexcept;

// The next resident that can run; with others waiting on the P, every other time. On g0, with a P.
[[nodiscard]] found take_at_home(M& m) noexcept;

// p goes to the home of g, which was called and has had its turn.
void give_p_to_home_of(P& p, G& g) noexcept;

// --- under sched.lock ---

// m is about to rest, without a P. True: residents are runnable and it has one now.
[[nodiscard]] bool takes_p_for_residents(Sched& s, M& m) noexcept;

// m has a P, or is about to get one.
inline void withdraw_call(Sched& s, M& m) noexcept {
  if (!m.is_called) [[likely]]
    return;
  s.global_queue.uncall(m);
  s.global_size.store(s.global_queue.size(), relaxed);  // smaller: nobody waits for that
}

// --- making way, on a goroutine, inside the runtime ---

// m's goroutine and its P go to an M that is nobody's home, if m is somebody's. One that is at home or locked stays, and at the limit of
// threads all do. The M it is on then.
M& make_way(M& m) noexcept;

// And back, when the call is over or the lock undone: a thread for these remains one, so that residents do not spread over all threads
// there are.
M& go_back(M& m) noexcept;
// The same for the P alone, when the goroutine has left the thread: on g0.
void stand_back(M& m) noexcept;
inline void stand_in_no_more(M& m) noexcept {
  m.stands_in = false;
  m.leaves = m.usual_leaving();
}

// g has arrived on m. Inside a call that was announced it goes away again, when it leaves the runtime: not from somebody's home.
M& arrive_announced(M& m, G& g) noexcept;
[[gnu::always_inline]] inline M& settle(M& m, G& g) noexcept {
  if (g.blocking_depth == 0) [[likely]]
    return m;
  return arrive_announced(m, g);
}

}  // namespace thrum::rt
