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

constinit atomic<int> notify_fd{-1};
constinit atomic<std::uint64_t> noted{0};
struct sigaction before[watched_signal_max + 1];  // the program's actions, by signal number

std::uint64_t bit_of(int number) noexcept { return std::uint64_t{1} << static_cast<unsigned>(number); }

THRUM_SIGNAL_ENTRY void note_signal(int number) {
  int const errno_before = errno;
  noted.fetch_or(bit_of(number), release);  // pairs with take_noted_signals
  notify_signal_goroutine();
  errno = errno_before;
}

}  // namespace

int make_signal_eventfd() noexcept {
  int injected = 0;
  if (should_fail(call::eventfd, injected)) return -injected;
  int const made = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return made < 0 ? -errno : made;
}

void set_signal_eventfd(int descriptor) noexcept {
  notify_fd.store(descriptor, relaxed);  // relaxed: a handler can run only after the sigaction that follows
}

void notify_signal_goroutine() noexcept {
  std::uint64_t const one = 1;
  static_cast<void>(kernel::write(notify_fd.load(relaxed), &one, sizeof one));  // relaxed: see set_signal_eventfd
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
  // If note_signal was in force, the program had put its own action on top and has removed it. `before` stays as it is.
  if (found.sa_handler != note_signal) before[number] = found;
  return 0;
}

void unwatch_signal(int number) noexcept {
  struct sigaction in_force {};
  bool const is_known = ::sigaction(number, nullptr, &in_force) == 0;
  if (is_known && in_force.sa_handler == note_signal) ::sigaction(number, &before[number], nullptr);
  noted.fetch_and(~bit_of(number),
                  relaxed);  // so that a later subscriber does not get it; nothing else follows from it
}

std::uint64_t take_noted_signals() noexcept { return noted.exchange(0, acquire); }  // pairs with note_signal

}  // namespace thrum::rt::os
