#include "os/signal_chain.h"

#include "os/fault.h"

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

bool is_ignored_by_default(int number) noexcept {
  return number == SIGURG || number == SIGCHLD || number == SIGWINCH || number == SIGCONT;
}

}  // namespace

int look_at_action(int number, struct sigaction& action) noexcept { return change_action(number, nullptr, &action); }

int take_over(chained_signal& signal, signal_entry entry, int flags) noexcept {
  // First only looked at, so that `previous` is complete before our action can run.
  int error = look_at_action(signal.number, signal.previous);
  if (error != 0) return error;
  struct sigaction ours {};
  ours.sa_sigaction = entry;
  ours.sa_flags = SA_SIGINFO | flags;
  ::sigemptyset(&ours.sa_mask);
  error = change_action(signal.number, &ours, nullptr);
  signal.linked = error == 0;
  return error;
}

int hand_back(chained_signal& signal, signal_entry entry) noexcept {
  struct sigaction in_force {};
  int error = look_at_action(signal.number, in_force);
  if (error != 0) return error;
  if ((in_force.sa_flags & SA_SIGINFO) == 0 || in_force.sa_sigaction != entry) return EBUSY;
  error = change_action(signal.number, &signal.previous, nullptr);
  if (error == 0) signal.linked = false;
  return error;
}

void pass_on(chained_signal& signal, siginfo_t* information, void* context) {
  struct sigaction const previous = signal.previous;
  bool const with_information = (previous.sa_flags & SA_SIGINFO) != 0;
  if (!with_information && (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN)) {
    bool const sent = information->si_code <= 0;  // by kill or the like: it does not repeat by itself
    if (is_ignored_by_default(signal.number) || (sent && previous.sa_handler == SIG_IGN)) return;
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

}  // namespace thrum::rt::os
