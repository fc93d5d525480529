// exit() on a goroutine: the other goroutines stop before anything of the program is taken down.
//
// exit() destroys static objects and calls the functions of atexit on the calling thread while all other threads run on, and a
// goroutine that uses such an object then uses a dead one. So the others are stopped first, as at the end of a run: they stay where
// they are, but for those that may hold a lock of the C library, which go on until they are out of it (sched/end_all_ms.cpp).
//
// It is a function of atexit, registered by the first run. So it comes before the destruction of all static objects that were made before
// that run, and after the destruction of those that were made later, such as a static of a function that a goroutine was the first
// to call. Thread-locals of the Ms, which exit() destroys before all else, would come first always, but a thread that makes such a
// one needs the loader's lock, and a goroutine may be paused with it (T01).
//
// The goroutine goes on with its P, as a thread from outside does that is in a call of the runtime: it never leaves its thread, and what it
// announces by blocking() takes its P from it no more. So destructors may write files, yield, and use channels as long as they need not
// wait. Because no goroutine is left to wake it, to wait ends the program with a message; to wait for a lock that is not thrum's, which a
// stopped goroutine may hold, is reported by sysmon (sys/exit_watch.h).
//
// exit() and the end of the run may come at once. Sched::ender decides: until run() is about to return, exit() wins, and the thread that
// called run() sleeps for good. A goroutine that calls exit() later was left behind, and exits without stopping any other.
//
// Several goroutines that call exit() at once do what several threads do. exit() on a thread that thrum did not make stops no goroutine;
// nor do quick_exit, _exit and abort on any.
#pragma once

#include "core/sched.h"
#include "os/note.h"

namespace thrum::rt {

// Before any goroutine runs; once in a process, though it may be called by every run. Allocates.
void watch_for_exit() noexcept;

// m's goroutine has left it. If that goroutine has called exit(), the program ends with a message.
void check_that_exit_does_not_wait(M const& m) noexcept;

// m's goroutine is about to leave its thread, and is waiting or runnable. False: it has not called exit(). If it has, it goes on at
// once when it only yields, and the program ends with a message when it waits.
[[nodiscard]] bool goes_on_exiting(M& m) noexcept;

// Waits until all Ps have done what m's goroutine asked them for. If the goroutine has called exit(), some may be in the hands of stopped
// Ms: after a second the program ends with a message.
void wait_for_other_ps(M const& m, os::note& done) noexcept;

// In sched/end_all_ms.cpp: brings all Ms but this one to rest, whose goroutine has called exit(). Inside the runtime.
void stop_all_but(M& exiting) noexcept;

}  // namespace thrum::rt
