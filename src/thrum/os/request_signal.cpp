#include "os/request_signal.h"

#include "base/atomic.h"
#include "os/signal.h"
#include "os/signal_chain.h"

#include <array>
#include <cstddef>

#include <errno.h>
#include <signal.h>

namespace thrum::rt::os {
namespace {

struct asked_signal {
  chained_signal chain;
  atomic<void (*)() noexcept> handler{nullptr};
};

constinit std::array<asked_signal, 2> all{};

asked_signal& of(request what) noexcept { return all[static_cast<std::size_t>(what)]; }

void answer(asked_signal& one, siginfo_t* information, void* context) {
  if (auto const handler = one.handler.load(acquire)) {  // pairs with the release in install_request_signal
    handler();
  } else {
    pass_on(one.chain, information, context);
  }
}

THRUM_SIGNAL_ENTRY void on_report(int, siginfo_t* information, void* context) {
  int const errno_before = errno;
  answer(of(request::report), information, context);
  errno = errno_before;
}

THRUM_SIGNAL_ENTRY void on_trace(int, siginfo_t* information, void* context) {
  int const errno_before = errno;
  answer(of(request::trace), information, context);
  errno = errno_before;
}

signal_entry entry_of(request what) noexcept { return what == request::report ? on_report : on_trace; }

}  // namespace

bool install_request_signal(request what, int number, void (*handler)() noexcept) noexcept {
  asked_signal& one = of(what);
  if (!one.chain.linked) {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return false;
    one.chain.number = number;
    one.handler.store(handler, release);  // pairs with answer's acquire
    return take_over(one.chain, now, entry_of(what), SA_ONSTACK | SA_RESTART) == 0;
  }
  // An earlier run installed the entry, and it could not be removed because the program had put its own action on top.
  if (one.chain.number != number) return false;
  one.handler.store(handler, release);  // pairs with answer's acquire
  return true;
}

void remove_request_signal(request what) noexcept {
  asked_signal& one = of(what);
  one.handler.store(nullptr, release);  // pairs with answer's acquire
  if (one.chain.linked) static_cast<void>(hand_back(one.chain, entry_of(what)));
}

}  // namespace thrum::rt::os
