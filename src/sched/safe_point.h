// A function run once on every P at its next safe point (S41; Go's forEachP).
#pragma once

#include "core/sched.h"

namespace thrum::rt {

using proc_function = void (*)(P& p, void* argument) noexcept;

// Calls f for every P exactly once, while that P runs no user code: on its own M at its next scheduling point, or by the
// caller for Ps that are idle or not in use any more. Returns when all are done. On a G, inside the runtime; one call at a time, others wait.
void for_each_proc(M& m, proc_function f, void* argument) noexcept;

// At a safe point of p: runs the function if p still owes it. By the P's owner, or by anybody for an idle P under sched.lock.
void attend_to(P& p) noexcept;

}  // namespace thrum::rt
