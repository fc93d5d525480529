// Nothing can ever run again (S20).
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Called with sched.lock held whenever an M goes to sleep: if all do, nothing is runnable and no thread that we do not
// know could help, says so, lists the goroutines and ends the program with exit code 2.
void check_deadlock_locked(Sched& s) noexcept;

}  // namespace thrum::rt
