// Detecting that no goroutine can ever run again (S20).
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Called with sched.lock held whenever an M goes to sleep. If all Ms sleep, nothing is runnable and no unknown thread
// could help, it says so, lists the goroutines and ends the program with exit code 2.
void check_deadlock_locked(Sched& s) noexcept;

// A panic is being reported, and will end the program. After this a deadlock is not reported in the usual way. The
// reporting thread may yet wait, in the on_panic function. If no thread can ever wake it, a line says so, and the
// program ends as the report would have ended it.
void note_that_program_dies() noexcept;

}  // namespace thrum::rt
