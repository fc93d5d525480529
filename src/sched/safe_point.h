// Runs a function once on every P, at its next safe point (S41; Go's forEachP).
#pragma once

#include "core/sched.h"

namespace thrum::rt {

using proc_function = void (*)(P& p, void* argument) noexcept;

// Calls f for every P exactly once, while that P runs no user code. The P's own M calls it at its next scheduling
// point. The caller calls it for Ps that are idle or not in use. Returns when all are done. On a G, inside the runtime.
// There is one call at a time; others wait.
void for_each_proc(M& m, proc_function f, void* argument) noexcept;

// At a safe point of p: runs the function if p has not run it yet. Called by the P's owner or, for an idle P, by any
// thread under sched.lock.
void attend_to(P& p) noexcept;

}  // namespace thrum::rt
