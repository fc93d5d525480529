#include "os/signal.h"

#include "base/atomic.h"
#include "base/platform.h"
#include "os/fault.h"
#include "os/memory.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51  // in the kernel's headers since 2017 (aarch64) and 2021 (x86)
#endif

namespace thrum::rt::os {
namespace {

constinit atomic<fault_handler> current_handler{nullptr};

// One signal we handle. `previous` is written before our action is in force, and read only by our action.
// `linked`: our action is in force, or below one that the program put on top of it.
struct handled_signal {
  int const number;
  bool linked;
  struct sigaction previous;
};
handled_signal handled[] = {{SIGSEGV, false, {}}, {SIGBUS, false, {}}};

int change_action(int number, struct sigaction const* action, struct sigaction* previous) noexcept {
  int error = 0;
  if (should_fail(call::sigaction, error)) return error;
  return ::sigaction(number, action, previous) == 0 ? 0 : errno;
}

// Does what would have happened without us.
// Not noexcept, as on_fault is not: the program's handler may throw or jump, as it could without us.
void pass_on(handled_signal& signal, siginfo_t* information, void* context) {
  struct sigaction const previous = signal.previous;
  bool const with_information = (previous.sa_flags & SA_SIGINFO) != 0;
  if (!with_information && (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN)) {
    bool const sent = information->si_code <= 0;  // by kill or the like: it does not repeat by itself
    if (sent && previous.sa_handler == SIG_IGN) return;
    ::sigaction(signal.number, &previous, nullptr);
    // Blocked until the handler returns, and then it ends the program.
    if (sent) ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), signal.number);
    return;
  }
  if ((previous.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    signal.previous.sa_handler = SIG_DFL;
    signal.previous.sa_flags &= ~SA_SIGINFO;
  }
  // The mask that the kernel would have set. It goes back to the interrupted one when our handler returns.
  ::pthread_sigmask(SIG_BLOCK, &previous.sa_mask, nullptr);
  if ((previous.sa_flags & SA_NODEFER) != 0) {
    sigset_t self;
    ::sigemptyset(&self);
    ::sigaddset(&self, signal.number);
    ::pthread_sigmask(SIG_UNBLOCK, &self, nullptr);
  }
  if (with_information) {
    previous.sa_sigaction(signal.number, information, context);
  } else {
    previous.sa_handler(signal.number);
  }
}

THRUM_SIGNAL_ENTRY void on_fault(int number, siginfo_t* information, void* context) {
  int const errno_before = errno;
  // Pairs with install_fault_handler's store: what the handler relies on was written before it was installed.
  fault_handler const handler = current_handler.load(acquire);
  if (handler == nullptr || !handler(number, information, context)) {
    for (handled_signal& signal : handled) {
      if (signal.number == number) pass_on(signal, information, context);
    }
  }
  errno = errno_before;
}

bool is_ours(struct sigaction const& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &on_fault;
}

int take_over(handled_signal& signal) noexcept {
  // First only looked at, so that `previous` is complete before our action can run.
  int error = change_action(signal.number, nullptr, &signal.previous);
  if (error != 0) return error;
  struct sigaction ours {};
  ours.sa_sigaction = &on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  error = change_action(signal.number, &ours, nullptr);
  signal.linked = error == 0;
  return error;
}

int hand_back(handled_signal& signal) noexcept {
  struct sigaction in_force {};
  int error = change_action(signal.number, nullptr, &in_force);
  if (error != 0) return error;
  if (!is_ours(in_force)) return EBUSY;
  error = change_action(signal.number, &signal.previous, nullptr);
  if (error == 0) signal.linked = false;
  return error;
}

struct alt_stack_state {
  bool installed;
  stack_t before;  // what the calling thread had before install_alt_stack
};
thread_local alt_stack_state alt_stack __attribute__((tls_model("initial-exec"))) = {};

int change_alt_stack(stack_t const& next, stack_t* before) noexcept {
  int error = 0;
  if (should_fail(call::sigaltstack, error)) return error;
  return ::sigaltstack(&next, before) == 0 ? 0 : errno;
}

}  // namespace

std::size_t alt_stack_bytes() noexcept {
  std::size_t frame = ::getauxval(AT_MINSIGSTKSZ);
  if (frame == 0) frame = 8192;  // a kernel before AT_MINSIGSTKSZ: enough for AVX-512 and for SVE at 512 bits
  std::size_t const page = page_size();
  return (64UL * 1024 + 4 * frame + page - 1) / page * page;
}

// Opaque, as remove_alt_stack is: a thread-local's address must not be shared with a caller that changes
// threads.
THRUM_OPAQUE int install_alt_stack(char* low, std::size_t bytes) noexcept {
  stack_t next{};
  next.ss_sp = low;
  next.ss_size = bytes;
  stack_t before{};
  int const error = change_alt_stack(next, &before);
  if (error == 0) alt_stack = {true, before};
  return error;
}

THRUM_OPAQUE int remove_alt_stack() noexcept {
  if (!alt_stack.installed) return 0;
  int const error = change_alt_stack(alt_stack.before, nullptr);
  if (error == 0) alt_stack.installed = false;
  return error;
}

int install_fault_handler(fault_handler handler) noexcept {
  fault_handler none = nullptr;
  // The release pairs with on_fault's load. Set before the actions: a fault may come right after them.
  if (!current_handler.compare_exchange(none, handler, acq_rel, relaxed)) return EALREADY;
  for (handled_signal& signal : handled) {
    int const error = signal.linked ? 0 : take_over(signal);
    if (error != 0) {
      remove_fault_handler();
      return error;
    }
  }
  return 0;
}

int remove_fault_handler() noexcept {
  int first_error = 0;
  for (handled_signal& signal : handled) {
    int const error = signal.linked ? hand_back(signal) : 0;
    if (first_error == 0) first_error = error;
  }
  // After the actions: until then a fault is still ours to explain. A link that stays passes everything on.
  current_handler.store(nullptr, release);  // release: as at install, nobody reads anything through a null
  return first_error;
}

std::uintptr_t stack_pointer_of(void const* ucontext) noexcept {
  auto const& machine = static_cast<ucontext_t const*>(ucontext)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(machine.gregs[REG_RSP]);
#else
  return machine.sp;
#endif
}

std::uintptr_t program_counter_of(void const* ucontext) noexcept {
  auto const& machine = static_cast<ucontext_t const*>(ucontext)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
#else
  return machine.pc;
#endif
}

signal_mask signal_mask::of_this_thread() noexcept {
  signal_mask now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now.blocked_);
  return now;
}

void signal_mask::apply() const noexcept { pthread_sigmask(SIG_SETMASK, &blocked_, nullptr); }

}  // namespace thrum::rt::os
