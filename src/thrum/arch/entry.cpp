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
  hook.store(replacement, relaxed);  // relaxed: set before the first goroutine and the threads that run it are made
}

// It compares addresses and does not call the unwinder, because the pc may be any value, also one in an object that was
// unloaded.
bool is_outermost_frame(std::uintptr_t pc) noexcept {
  return pc >= reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry) &&
         pc < reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry_end);
}

}  // namespace thrum::rt

// The unwinder calls this in the search phase, before it unwinds anything, if no frame of the goroutine catches the
// exception. The report is made here, because the stack trace contains the function that threw. A forced unwinding
// (goexit) is stopped by its own base frame and does not reach this function.
extern "C" __attribute__((visibility("hidden"))) _Unwind_Reason_Code thrum_entry_personality(
    int, _Unwind_Action actions, _Unwind_Exception_Class, _Unwind_Exception* exception, _Unwind_Context*) {
  if ((actions & _UA_SEARCH_PHASE) == 0) return _URC_CONTINUE_UNWIND;
  if (auto const report = thrum::rt::hook.load(thrum::rt::relaxed)) {
    __cxxabiv1::__cxa_begin_catch(exception);
    report();
  }
  std::terminate();
}
