// Goroutines that cannot start because no stack can be had (T10): they wait until one comes free.
//
// While anybody waits, a stack that comes free goes to the pool, where every P can find it, instead of its P's own cache;
// and the Ps give up what their caches hold, the idle ones at once, the others at their next safe point.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// On g0: g, which is nobody's else, waits for a stack.
void wait_for_stack(M& m, G& g) noexcept;

// The owner of p puts a stack away.
void put_stack(P& p, stack* freed) noexcept;

// At a safe point of p, when P::attention says so: p's cached stacks for those who wait.
void give_up_cached_stacks(P& p) noexcept;

// Each of the waiting for whom there is a stack now gets it, and his turn. Not under sched.lock.
void start_those_who_wait_for_stacks(Sched& s) noexcept;

}  // namespace thrum::rt
