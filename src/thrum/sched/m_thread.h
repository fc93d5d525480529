// The thread of an M, from its first function to its end. The thread maker makes and joins it (sched/thread_maker.h).
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Makes the thread of an M. Runs on the thread maker. A failure ends the program (S22).
void start_thread(Sched& s, M& m) noexcept;

// Makes the spare thread, on the thread maker. It makes none if a spare thread has come meanwhile, or if there cannot
// be more threads.
void start_spare_thread(Sched& s) noexcept;

// Joins m's thread if it has ended, and keeps the record for reuse. False: the thread has not ended. If `gives_up` is
// set, such a thread is detached instead. Runs on the thread maker.
[[nodiscard]] bool join_ended_thread(Sched& s, M& m, bool gives_up) noexcept;

// Sets up what an M needs before it can run goroutines on the calling thread; returns 0 or the errno. release_thread
// undoes it.
[[nodiscard]] int adopt_thread(M& m) noexcept;
void release_thread(M& m) noexcept;

}  // namespace thrum::rt
