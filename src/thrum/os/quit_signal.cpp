#include "os/quit_signal.h"

#include "base/atomic.h"
#include "os/signal.h"
#include "os/signal_chain.h"

#include <errno.h>
#include <signal.h>

namespace thrum::rt::os {
namespace {

constinit chained_signal handled{.number = SIGQUIT};
constinit atomic<void (*)() noexcept> current{nullptr};

THRUM_SIGNAL_ENTRY void on_signal(int, siginfo_t* information, void* context) {
  int const errno_before = errno;
  if (auto const handler = current.load(acquire)) {  // pairs with the release in install_quit_signal
    handler();
  } else {
    pass_on(handled, information, context);
  }
  errno = errno_before;
}

}  // namespace

bool install_quit_signal(void (*handler)() noexcept) noexcept {
  struct sigaction now {};
  if (!handled.linked) {
    if (::sigaction(SIGQUIT, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return false;
    current.store(handler, release);  // pairs with on_signal's acquire
    return take_over(handled, now, on_signal, SA_ONSTACK | SA_RESTART) == 0;
  }
  // An earlier run installed on_signal, and it could not be removed because the program had put its own action on top.
  current.store(handler, release);  // pairs with on_signal's acquire
  return true;
}

void remove_quit_signal() noexcept {
  current.store(nullptr, release);  // pairs with on_signal's acquire
  if (handled.linked) static_cast<void>(hand_back(handled, on_signal));
}

}  // namespace thrum::rt::os
