// The last word on a stack overflow: which goroutine, where it was created, how large its stack was and what
// to do.
//
// Runs in the SIGSEGV handler, on the alternate signal stack: the stack that overflowed has no room left. The
// stack is found by the address of the fault, not by the goroutine that happens to be current: the switch may
// be half done, and a thread that is between two goroutines has none. Rows S29, SK-01.
//
// No locks. One exception to what a handler may call: dladdr, to name the creation site. It comes after the
// line that matters, and the program ends whatever it does.
#pragma once

#include "os/signal.h"

namespace thrum::rt {

// A fault in the guard of a stack is reported, and ends the program with exit code 2. Any other answers
// false: it is the next handler's.
bool report_if_overflow(int signal, siginfo_t* info, void* ucontext) noexcept;

}  // namespace thrum::rt
