#include "os/guarded_call.h"

#include "base/platform.h"
#include "base/signal_bits.h"
#include "os/interrupted_code.h"

#include <algorithm>
#include <initializer_list>

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#if THRUM_ASAN
#include <sanitizer/asan_interface.h>
#endif

// See arch/guarded_call_<architecture>.S.
extern "C" {
__attribute__((visibility("hidden"))) int thrum_call_guarded(void (*f)(void*) noexcept, void* argument,
                                                             std::uintptr_t* sp) noexcept;
extern char const thrum_leave_guarded_call[] __attribute__((visibility("hidden")));
}

namespace thrum::rt::os {
namespace {

// The stack pointer of the innermost guarded call of this thread, or 0 if there is none.
thread_local std::uintptr_t guarded_sp __attribute__((tls_model("initial-exec"))) = 0;

constexpr signal_bits all_but_faults() noexcept {
  signal_bits mask = ~signal_bits{0};
  for (int const fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) mask &= ~bit_of_signal(fault);
  return mask;
}

// The system call itself, because the C library would leave out the signals that it reserves for itself.
void set_mask(signal_bits mask, signal_bits* before) noexcept {
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, before, sizeof mask);
}

}  // namespace

// Opaque, because it reads the address of a thread-local variable.
THRUM_OPAQUE bool call_guarded(void (*f)(void*) noexcept, void* argument) noexcept {
  int const errno_before = errno;
  std::uint64_t mask_before = 0;
  set_mask(all_but_faults(), &mask_before);
  std::uintptr_t const outer = guarded_sp;
  bool const is_complete = thrum_call_guarded(f, argument, &guarded_sp) != 0;
  guarded_sp = outer;
  set_mask(mask_before, nullptr);
  errno = errno_before;
  return is_complete;
}

THRUM_OPAQUE bool leave_guarded_call(void* ucontext) noexcept {
  if (guarded_sp == 0) return false;
#if THRUM_ASAN
  // The frames that are left have not cleaned up their red zones.
  std::uintptr_t const faulted_at = stack_pointer_of(ucontext);
  if (faulted_at < guarded_sp) {
    __asan_unpoison_memory_region(reinterpret_cast<void*>(faulted_at), guarded_sp - faulted_at);
  }
#endif
  auto& machine = static_cast<ucontext_t*>(ucontext)->uc_mcontext;
  auto const end_of_call = reinterpret_cast<std::uintptr_t>(thrum_leave_guarded_call);
#if defined(__x86_64__)
  machine.gregs[REG_RSP] = static_cast<greg_t>(guarded_sp);
  machine.gregs[REG_RIP] = static_cast<greg_t>(end_of_call);
#else
  machine.sp = guarded_sp;
  machine.pc = end_of_call;
  machine.pstate &= ~(3ULL << 10U);  // BTYPE: the fault may be at the target of an indirect call
#endif
  guarded_sp = 0;  // a fault after this is not the function's
  return true;
}

std::size_t walk_stack_guarded(stack_registers const& from, stack_range on, std::uintptr_t* pcs,
                               std::size_t max) noexcept {
  struct {
    stack_registers const& from;
    stack_range on;
    std::uintptr_t* pcs;
    std::size_t max;
    std::size_t count;
  } walk{from, on, pcs, max, 0};
  constexpr std::uintptr_t unset = ~std::uintptr_t{0};  // no frame has it; the innermost may have 0
  std::fill_n(pcs, max, unset);
  bool const is_complete = call_guarded(
      [](void* its) noexcept {
        auto& w = *static_cast<decltype(walk)*>(its);
        w.count = walk_stack(w.from, w.on, w.pcs, w.max);
      },
      &walk);
  return is_complete ? walk.count : static_cast<std::size_t>(std::find(pcs, pcs + max, unset) - pcs);
}

}  // namespace thrum::rt::os
