#include "arch/entry.h"

#include "base/atomic.h"

#include <exception>

#include <cxxabi.h>
#include <unwind.h>

extern "C" __attribute__((visibility("hidden"))) void thrum_goroutine_entry();      // entry_<architecture>.S
extern "C" __attribute__((visibility("hidden"))) void thrum_goroutine_entry_end();  // the same

namespace thrum::rt {
namespace {

constinit atomic<uncaught_hook> hook{nullptr};

}  // namespace

void set_uncaught_hook(uncaught_hook replacement) noexcept {
  hook.store(replacement, relaxed);  // set before the first goroutine is made; threads come after
}

// The unwinder is not asked: the pc may be anything by now, and lie in an object that was unloaded.
bool is_outermost_frame(std::uintptr_t pc) noexcept {
  return pc >= reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry) &&
         pc < reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry_end);
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
