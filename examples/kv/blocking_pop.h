// BLPOP and BRPOP: takes an element of the first list that has one, or waits until somebody fills one of them.
//
// Those who wait for a list are served in the order in which they came. Only the client's own goroutine waits; what is blocking
// style for everybody else is so here, too.
#pragma once

#include "command.h"
#include "waiter.h"

namespace kv {

void blocking_pop(call& c, list_end end);

}  // namespace kv
