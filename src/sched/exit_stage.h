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
// The goroutine goes on with its P, so what it calls then of the runtime works as long as it need not wait: nobody is left to wake it,
// and to wait ends the program with a message. Several goroutines that call exit() at once do what several threads do. exit()
// on a thread that thrum did not make stops no goroutine; nor do quick_exit, _exit and abort on any.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Before any goroutine runs; once in a process, though it may be called by every run. Allocates.
void watch_for_exit() noexcept;

// m's goroutine has left it. If that goroutine has called exit(), the program ends with a message.
void check_that_exit_does_not_wait(M const& m) noexcept;

// In sched/end_all_ms.cpp: brings all Ms but this one to rest, whose goroutine has called exit(). Inside the runtime.
void stop_all_but(M& exiting) noexcept;

}  // namespace thrum::rt
