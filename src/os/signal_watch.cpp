#include "os/signal_watch.h"

#include "base/atomic.h"
#include "os/fault.h"
#include "os/kernel.h"
#include "os/signal.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

constinit atomic<int> bell{-1};
constinit atomic<std::uint64_t> noted{0};
struct sigaction before[watched_signal_max + 1];

THRUM_SIGNAL_ENTRY void note_signal(int number) {
  int const errno_before = errno;
  noted.fetch_or(std::uint64_t{1} << static_cast<unsigned>(number), release);  // pairs with take_noted_signals
  std::uint64_t const one = 1;
  static_cast<void>(kernel::write(bell.load(relaxed), &one, sizeof one));  // relaxed: it was made before the handler
  errno = errno_before;
}

}  // namespace

int signal_bell() noexcept {
  int const has = bell.load(acquire);
  if (has >= 0) return has;
  int injected = 0;
  int const made = should_fail(call::eventfd, injected) ? -injected : ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made < 0) return injected != 0 ? -injected : -errno;
  int expected = -1;
  if (bell.compare_exchange(expected, made, acq_rel, acquire)) return made;
  kernel::close(made);
  return expected;
}

int watch_signal(int number) noexcept {
  if (number < 1 || number > watched_signal_max) return EINVAL;
  struct sigaction ours {};
  ours.sa_handler = note_signal;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  int injected = 0;
  if (should_fail(call::sigaction, injected)) return injected;
  struct sigaction found {};
  if (::sigaction(number, &ours, &found) != 0) return errno;
  if (found.sa_handler != note_signal)
    before[number] = found;  // else whoever had put another over ours has handed it back
  return 0;
}

void unwatch_signal(int number) noexcept {
  struct sigaction in_force {};
  bool const is_known = ::sigaction(number, nullptr, &in_force) == 0;
  if (is_known && in_force.sa_handler == note_signal) ::sigaction(number, &before[number], nullptr);
}

std::uint64_t take_noted_signals() noexcept { return noted.exchange(0, acquire); }

}  // namespace thrum::rt::os
