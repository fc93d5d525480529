// Nothing can ever run again (S20).
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Called with sched.lock held whenever an M goes to sleep: if all do, nothing is runnable and no thread that we do not
// know could help, says so, lists the goroutines and ends the program with exit code 2.
void check_deadlock_locked(Sched& s) noexcept;

// A panic is being reported, and will end the program: from here on a deadlock is no news and has no report of its own. Whoever
// reports may yet wait, in the on_panic function; if nobody can ever wake him, a line says so and the program ends as by his hand.
void note_that_program_dies() noexcept;

}  // namespace thrum::rt
