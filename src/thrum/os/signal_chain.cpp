#include "os/signal_chain.h"

#include "base/current_tid.h"
#include "os/fault.h"
#include "os/signal_set.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

int change_action(int number, struct sigaction const* action, struct sigaction* previous) noexcept {
  int error = 0;
  if (should_fail(call::sigaction, error)) return error;
  return ::sigaction(number, action, previous) == 0 ? 0 : errno;
}

// A signal that a faulting instruction raises. If the handler does not remove the cause, the instruction faults once
// more when the handler returns.
bool is_fault(int number) noexcept {
  return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE || number == SIGTRAP;
}

bool is_ignored_by_default(int number) noexcept {
  return number == SIGURG || number == SIGCHLD || number == SIGWINCH || number == SIGCONT;
}

struct sigaction what_is_left_of(struct sigaction previous) noexcept {
  previous.sa_handler = SIG_DFL;
  previous.sa_flags &= ~SA_SIGINFO;
  return previous;
}

bool is_for_one_signal(struct sigaction const& action) noexcept {
  return (action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0;
}

}  // namespace

int look_at_action(int number, struct sigaction& action) noexcept { return change_action(number, nullptr, &action); }

int put_in_force(chained_signal& signal, signal_entry entry, int flags) noexcept {
  struct sigaction ours {};
  ours.sa_sigaction = entry;
  ours.sa_flags = SA_SIGINFO | flags;
  ::sigemptyset(&ours.sa_mask);
  int const error = change_action(signal.number, &ours, nullptr);
  if (error == 0) signal.linked = true;
  return error;
}

int take_over(chained_signal& signal, struct sigaction const& in_force, signal_entry entry, int flags) noexcept {
  signal.previous = in_force;  // complete before thrum's action can run
  signal.is_spent.store(false, relaxed);
  return put_in_force(signal, entry, flags);
}

int hand_back(chained_signal& signal, signal_entry entry) noexcept {
  struct sigaction in_force {};
  int error = look_at_action(signal.number, in_force);
  if (error != 0) return error;
  if (in_force.sa_sigaction != entry) return EBUSY;
  bool const is_spent = signal.is_spent.load(relaxed);
  struct sigaction const previous = is_spent ? what_is_left_of(signal.previous) : signal.previous;
  error = change_action(signal.number, &previous, nullptr);
  if (error == 0) signal.linked = false;
  return error;
}

bool has_handler(chained_signal const& signal) noexcept {
  auto const handler = signal.previous.sa_handler;
  bool const is_over = is_for_one_signal(signal.previous) && signal.is_spent.load(relaxed);
  return handler != SIG_DFL && handler != SIG_IGN && !is_over;
}

void pass_on(chained_signal& signal, siginfo_t* information, void* context) {
  struct sigaction previous = signal.previous;
  // relaxed: it decides which of several threads gets the one signal, and nothing is ordered by it
  bool const is_over = is_for_one_signal(previous) && signal.is_spent.exchange(true, relaxed);
  if (is_over) previous = what_is_left_of(previous);
  bool const with_information = (previous.sa_flags & SA_SIGINFO) != 0;
  if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {  // with or without SA_SIGINFO
    bool const repeats_itself =
        is_fault(signal.number) && information->si_code > 0;  // 0 or less: a process sent it, by kill for example
    bool const is_ignored = previous.sa_handler == SIG_IGN ? !repeats_itself : is_ignored_by_default(signal.number);
    if (is_ignored) return;
    ::sigaction(signal.number, &previous, nullptr);
    // The new signal is blocked until the handler returns. Then its default action takes effect.
    if (!repeats_itself) ::syscall(SYS_tgkill, ::getpid(), current_tid(), signal.number);
    return;
  }
  // Sets the mask that the kernel would have set for this handler. The kernel restores the interrupted code's mask when
  // thrum's handler returns.
  ::pthread_sigmask(SIG_BLOCK, &previous.sa_mask, nullptr);
  if ((previous.sa_flags & SA_NODEFER) != 0) {
    sigset_t const self = only(signal.number);
    ::pthread_sigmask(SIG_UNBLOCK, &self, nullptr);
  }
  if (with_information) {
    previous.sa_sigaction(signal.number, information, context);
  } else {
    previous.sa_handler(signal.number);
  }
}

}  // namespace thrum::rt::os
