// BLPOP and BRPOP: take an element of the first list that has one, or wait until another client fills one of the lists.
//
// Clients that wait for a list are served in the order in which they came. Only the client's own goroutine waits, so
// the command is written in blocking style like all others.
#pragma once

#include "command.h"
#include "waiter.h"

namespace kv {

void blocking_pop(call& c, list_end end);

}  // namespace kv
