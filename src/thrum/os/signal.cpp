#include "os/signal.h"

#include "base/atomic.h"
#include "base/current_tid.h"
#include "base/platform.h"
#include "base/round_up.h"
#include "base/signal_bits.h"
#include "os/fault.h"
#include "os/guarded_call.h"
#include "os/memory.h"
#include "os/signal_chain.h"
#include "os/signal_set.h"

#include <cstring>

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

chained_signal handled[] = {{SIGSEGV}, {SIGBUS}, {SIGFPE}, {SIGILL}, {SIGABRT}};

THRUM_SIGNAL_ENTRY void on_fault(int number, siginfo_t* information, void* context) {
  if (information->si_code > 0 && leave_guarded_call(context)) return;  // 0 or less: the signal was sent
  int const errno_before = errno;
  // Pairs with the release in install_fault_handler, so that everything that the handler relies on is visible here.
  fault_handler const handler = current_handler.load(acquire);
  if (handler == nullptr || !handler(number, information, context)) {
    for (chained_signal& signal : handled) {
      if (signal.number == number) pass_on(signal, information, context);
    }
  }
  errno = errno_before;
}

// Four cases:
// - thrum's action is in force, because the program has put it back. It gets its flags back.
// - The program's action lies on top of thrum's. It may pass signals on to thrum's, which would call it in return if it
//   were thrum's previous action.
// - The action is the default one, or it is for SIGSEGV. thrum takes the signal over.
// - The program has an action for another signal. It stays.
int link(chained_signal& signal) noexcept {
  struct sigaction in_force {};
  if (int const error = look_at_action(signal.number, in_force)) return error;
  if (in_force.sa_sigaction == on_fault) return put_in_force(signal, on_fault, SA_ONSTACK);
  bool const is_default = in_force.sa_handler == SIG_DFL;
  bool const lies_on_top = signal.linked && !is_default;
  if (lies_on_top || (!is_default && signal.number != SIGSEGV)) return 0;
  return take_over(signal, in_force, on_fault, SA_ONSTACK);
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
  // A kernel without AT_MINSIGSTKSZ. 8192 bytes are enough for AVX-512 and for SVE with 512 bits.
  if (frame == 0) frame = 8192;
  return round_up(64UL * 1024 + 4 * frame, page_size());
}

// Opaque, as remove_alt_stack is. If the compiler inlined it, the caller could keep the address of the thread-local
// variable although the goroutine moves to another thread.
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
  // The release pairs with the acquire load in on_fault. The handler is set before the actions, because a fault may
  // come right after them.
  if (!current_handler.compare_exchange(none, handler, acq_rel, relaxed)) return EALREADY;
  for (chained_signal& signal : handled) {
    if (int const error = link(signal)) {
      remove_fault_handler();
      return error;
    }
  }
  return 0;
}

int remove_fault_handler() noexcept {
  int first_error = 0;
  for (chained_signal& signal : handled) {
    int const error = signal.linked ? hand_back(signal, on_fault) : 0;
    if (first_error == 0) first_error = error;
  }
  // Reset after the actions, because thrum reports faults until the actions are restored. An action that stays in place
  // passes every signal on. release as in install_fault_handler; a thread that loads nullptr reads nothing through it.
  current_handler.store(nullptr, release);
  return first_error;
}

bool goes_to_default(int number) noexcept {
  for (chained_signal const& signal : handled) {
    if (signal.number == number) return !has_handler(signal);
  }
  return false;
}

void end_by_signal(int signal) noexcept {
  struct sigaction ends {};
  ends.sa_handler = SIG_DFL;
  ::sigaction(signal, &ends, nullptr);
  sigset_t const its = only(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &its, nullptr);
  ::syscall(SYS_tgkill, ::getpid(), current_tid(), signal);
  ::_exit(128 + signal);  // a sandbox has refused the call; this is how shells show a death by a signal
}

int signal_of_fault_handler() noexcept {
  for (chained_signal const& signal : handled) {
    struct sigaction now {};
    if (::sigaction(signal.number, nullptr, &now) == 0 && now.sa_sigaction == on_fault) return signal.number;
  }
  return 0;
}

// Changes no chained_signal, because a thread that starts or ends a run may be using it.
void put_fault_handler_in_force(int signal) noexcept {
  struct sigaction ours {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  ::sigaction(signal, &ours, nullptr);
}

signal_mask signal_mask::of_this_thread() noexcept {
  signal_mask now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now.blocked_);
  return now;
}

signal_mask signal_mask::without(int signal) const noexcept {
  signal_mask result = *this;
  ::sigdelset(&result.blocked_, signal);
  return result;
}

void signal_mask::apply() const noexcept { pthread_sigmask(SIG_SETMASK, &blocked_, nullptr); }

void signal_mask::apply_to(int signal) const noexcept {
  sigset_t const one = only(signal);
  ::pthread_sigmask(::sigismember(&blocked_, signal) == 1 ? SIG_BLOCK : SIG_UNBLOCK, &one, nullptr);
}

bool signal_mask::is_same_as(std::uint64_t of_kernel) const noexcept {
  std::uint64_t wanted = 0;
  std::memcpy(&wanted, &blocked_, sizeof wanted);
  constexpr signal_bits of_libc = bit_of_signal(32) | bit_of_signal(33);
  return ((of_kernel ^ wanted) & ~of_libc) == 0;
}

bool signal_mask::is_in_force() const noexcept {
  signal_bits now = 0;
  return ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, nullptr, &now, sizeof now) != 0 || is_same_as(now);
}

// The kernel writes only 64 bits into uc_sigmask. The rest of the C library's sigset_t is not set.
bool signal_mask::was_in_force(void const* ucontext) const noexcept {
  std::uint64_t then = 0;
  std::memcpy(&then, &static_cast<ucontext_t const*>(ucontext)->uc_sigmask, sizeof then);
  return is_same_as(then);
}

}  // namespace thrum::rt::os
