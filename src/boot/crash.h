// What ends the program on a goroutine without being a panic: a fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL), abort() and std::terminate.
//
// The report says what happened, to which goroutine, where it stands and where it was made. Then the program ends as it would have without
// thrum: by the signal's default action, with a core file if the system writes one, or by the terminate handler that was in force before.
// So a handler of the program's own is neither replaced nor preceded by a report; the only exceptions are the guards of stacks, which
// the program cannot know (stack/overflow.h, stack/signal_stack.h).
//
// Names are looked up by the thread maker, because the thread that crashed may hold the locks of malloc and of the loader. If that takes
// too long, the handler prints what the loader knows, without an allocation.
#pragma once

#include "os/signal.h"

namespace thrum::rt {

// In the handler of a fault or of SIGABRT. Always false, unless it does not return: what happens next is the next action's.
bool report_fault(int signal, siginfo_t* info, void* ucontext) noexcept;

// While a run is alive.
class crash_reports {
 public:
  crash_reports();  // throws std::system_error
  ~crash_reports();
  crash_reports(crash_reports const&) = delete;
  crash_reports& operator=(crash_reports const&) = delete;
};

}  // namespace thrum::rt
