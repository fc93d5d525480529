#include "arch/entry.h"

#include "base/atomic.h"

#include <exception>

#include <cxxabi.h>
#include <unwind.h>

extern "C" __attribute__((visibility("hidden"))) void thrum_goroutine_entry();  // entry_<architecture>.S

namespace thrum::rt {
namespace {

constinit atomic<uncaught_hook> hook{nullptr};

}  // namespace

void set_uncaught_hook(uncaught_hook replacement) noexcept {
  hook.store(replacement, relaxed);  // set before the first goroutine is made; threads come after
}

bool is_outermost_frame(std::uintptr_t pc) noexcept {
  return pc != 0 && _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(pc + 1)) ==
                        reinterpret_cast<void*>(&thrum_goroutine_entry);
}

}  // namespace thrum::rt

// The unwinder asks this before it unwinds anything: no frame of the goroutine wanted the exception. The report is made
// here, where the stack trace still shows who threw. A forced unwinding (goexit) is stopped by its own base frame and never
// comes this far.
extern "C" __attribute__((visibility("hidden"))) _Unwind_Reason_Code thrum_entry_personality(
    int, _Unwind_Action actions, _Unwind_Exception_Class, _Unwind_Exception* exception, _Unwind_Context*) {
  if ((actions & _UA_SEARCH_PHASE) == 0) return _URC_CONTINUE_UNWIND;
  if (auto const report = thrum::rt::hook.load(thrum::rt::relaxed)) {
    __cxxabiv1::__cxa_begin_catch(exception);
    report();
  }
  std::terminate();
}
