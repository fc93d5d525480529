// A thread that serves traces, profiles or the debug socket of a run. It wakes no goroutine, so it does not hide a
// deadlock. Only the signals of its own faults come to it.
#pragma once

#include "os/thread.h"

namespace thrum::rt {

struct Sched;

// Returns 0 or the errno. Must not be called inside the runtime.
[[nodiscard]] int make_helper_thread(Sched& s, os::thread& made, void* (*entry)(void*), void* argument) noexcept;
// Waits for the end of the thread. `tid` as in os::join_thread.
void join_helper_thread(Sched& s, os::thread& ended, int const& tid) noexcept;

}  // namespace thrum::rt
