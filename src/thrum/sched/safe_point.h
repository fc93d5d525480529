// Runs a function once on every P, at its next safe point (S41; Go's forEachP).
#pragma once

#include "core/sched.h"
#include "sched/requests.h"

namespace thrum::rt {

// Calls f for every P exactly once, while that P runs no user code. The P's own M calls it at its next scheduling
// point, or in the signal handler. The caller calls it for Ps that are idle or not in use. Returns when all are done.
// On a G, inside the runtime. There is one call at a time; others wait.
void for_each_proc(M& m, proc_function f, void* argument) noexcept;

}  // namespace thrum::rt
