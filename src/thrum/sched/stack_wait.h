// Goroutines that cannot start because there is no memory for a stack (T10). They wait until a stack is freed.
//
// While a goroutine waits, a stack that is freed goes to the pool, where every P can find it, instead of to the cache
// of its P. The Ps also give up the stacks in their caches: idle Ps at once, the others at their next safe point.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// On g0: g, which no other thread holds, waits for a stack.
void wait_for_stack(M& m, G& g) noexcept;

// The owner of p gives a stack back that is not used any more.
void put_stack(P& p, stack* freed) noexcept;

// At a safe point of p, if P::attention asks for it: gives p's cached stacks to the goroutines that wait.
void give_up_cached_stacks(P& p) noexcept;

// Gives a stack to each waiting goroutine for which there is one, and makes the goroutine runnable. Not under
// sched.lock.
void start_stack_waiters(Sched& s) noexcept;

}  // namespace thrum::rt
