// Reports on a goroutine that ends the program without a panic: by a fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL), by
// abort() or by std::terminate.
//
// The report says what happened, to which goroutine, where the goroutine is and where it was created. Then the program
// ends as it would have without thrum: by the signal's default action, with a core file if the system writes one, or by
// the previous terminate handler.
//
// If the program has a signal handler of its own, that handler runs and no report is printed. The only exceptions are
// faults in the guards of stacks, because the program does not know the guards (stack/overflow.h,
// stack/signal_stack.h).
//
// report_fault runs in a signal handler, on the signal stack. It has the thread maker look up the names of functions,
// because the thread that crashed may hold the locks of malloc and of the loader. If that takes too long, the signal
// handler prints what the loader knows, without an allocation.
//
// Every report comes to an end. The walk of a damaged stack is a guarded call (os/guarded_call.h). A timer ends a
// report that waits, for the loader's lock or for the reader of standard error. A fault in the report ends it as well.
// In each case the program ends as it would have after the report. Goroutines and threads that crash meanwhile wait for
// the end of the program (core/ender.h).
//
// A report on std::terminate leaves all signal handlers of the program in force, because the terminate handler may need
// them (os/report_deadline.h).
#pragma once

#include "os/signal.h"

namespace thrum::rt {

// Called in the handler of a fault or of SIGABRT. Returns false, so that the previous action follows. After a stack
// overflow it does not return.
bool report_fault(int signal, siginfo_t* info, void* ucontext) noexcept;

// Installs the handlers of faults and of std::terminate. It exists while a run is alive.
class crash_reports {
 public:
  crash_reports();  // throws std::system_error
  ~crash_reports();
  crash_reports(crash_reports const&) = delete;
  crash_reports& operator=(crash_reports const&) = delete;
};

}  // namespace thrum::rt
