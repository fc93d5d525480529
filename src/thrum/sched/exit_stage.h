// exit() on a goroutine: the other goroutines are stopped before anything of the program is destroyed.
//
// exit() destroys static objects and calls the atexit functions on the calling thread, while all other threads go on. A
// goroutine that uses such an object then uses a destroyed one. So the others are stopped first, as at the end of a
// run. They stay where they are, except those that may hold a lock of the C library, which go on until they have
// released it (sched/end_all_ms.cpp).
//
// The stopping is done by an atexit function that the first run registers. So it comes before the destruction of all
// static objects that were made before that run. It comes after the destruction of those that were made later, such as
// a static of a function that a goroutine was the first to call. The destructors of thread-locals of the Ms would
// always come first, because exit() runs them before all else. But a thread that makes such a thread-local needs the
// loader's lock, and a goroutine may be paused while it holds that lock (T01).
//
// The goroutine goes on with its P, like a foreign thread that is in a call of the runtime. It never leaves its thread,
// and it keeps its P in calls that it announces by blocking(). So destructors may write files, yield, and use channels
// as long as they need not wait. If one waits, the program ends with a message, because no goroutine is left to wake
// it. If one waits for a lock that is not thrum's, which a stopped goroutine may hold, sysmon reports it
// (sys/exit_watch.h).
//
// exit() and the end of the run may come at the same time. Sched::end decides: until run() is about to return, exit()
// wins, and the thread that called run() sleeps for good. A goroutine that calls exit() later was left behind by its
// run, and exits without stopping any other.
//
// Several goroutines that call exit() at the same time do what several threads do. exit() on a thread that thrum did
// not make stops no goroutine. Nor do quick_exit, _exit and abort, on any thread.
#pragma once

#include "core/sched.h"
#include "os/note.h"

namespace thrum::rt {

// Registers the atexit function. Called before any goroutine runs. It may be called by every run, and has an effect
// once in a process. Allocates.
void watch_for_exit() noexcept;

// Called when m's goroutine has left m's thread. If that goroutine has called exit(), the program ends with a message.
void check_that_exit_does_not_wait(M const& m) noexcept;

// Called when m's goroutine, which is waiting or runnable, is about to leave its thread. False: it has not called
// exit(). If it has, and only yields, it goes on at once; if it waits, the program ends with a message.
[[nodiscard]] bool goes_on_exiting(M& m) noexcept;

// Waits until all Ps have done what m's goroutine asked them for. If the goroutine has called exit(), some Ps may be
// held by stopped Ms, so after a second the program ends with a message.
void wait_for_other_ps(M& m, os::note& done) noexcept;

}  // namespace thrum::rt
