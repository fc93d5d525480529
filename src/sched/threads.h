// Ms: starting, stopping and ending the threads (Go's startm, stopm, handoffp; S22, S31).
//
// Ms are reused: one without a P sleeps on its note in the idle list until somebody hands it a P.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

enum class start_as : bool { working, spinning };

// Gets an M going on p: an idle one, else a new thread, which the thread maker makes. Called with sched.lock held; releases it. For `spinning` the
// caller has counted the new spinner.
void start_m_locked(Sched& s, P& p, start_as how) noexcept;

// Gives p to whoever can use it: to an M if it has work, else to the idle list.
void hand_off(Sched& s, P& p) noexcept;

// Puts m, which holds no P, to sleep until somebody starts it. False: the run is over, the thread must end.
[[nodiscard]] bool stop_m(M& m) noexcept;

// The thread of an M that was made: on the thread maker. A failure ends the program (S22).
void start_thread(Sched& s, M& m) noexcept;

// m takes p, which nobody holds.
void acquire_p(M& m, P& p) noexcept;

// m, which is about to end, leaves its P where for_each_proc finds it.
void retire_p(M& m) noexcept;

// What an M needs before it can run goroutines on the calling thread, 0 or the errno; and the way back.
[[nodiscard]] int adopt_thread(M& m) noexcept;
void release_thread(M& m) noexcept;

// Ends all Ms but the caller's. Waits until they have come to rest, for `patience_ns` at most; answers how many are still
// in user code after that. They stop at their next scheduling point, and everything they may touch must be left alone.
[[nodiscard]] int end_all_ms(Sched& s, std::int64_t patience_ns) noexcept;

}  // namespace thrum::rt
