#include "core/current.h"
#include "core/sched.h"
#include "net/io_call.h"
#include "os/pause_signal.h"
#include "os/signal_watch.h"
#include <thrum/chan.h>
#include <thrum/fd.h>
#include <thrum/go.h>
#include <thrum/mutex.h>
#include <thrum/signals.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace thrum {
namespace {

using namespace rt;

struct subscriber {
  chan<int> to;
  std::uint64_t wants;
};

// Never destroyed: goroutines of a run that is over, and handlers, may look at it.
struct switchboard {
  mutex lock;
  std::vector<subscriber> all;
  std::array<int, os::watched_signal_max + 1> wanted_by{};
  fd bell;
  std::uint32_t served_in = 0;  // the run whose goroutine tells them
};

switchboard& board() {
  static auto* const made = new switchboard;
  return *made;
}

void tell(std::uint64_t came) {
  switchboard& b = board();
  std::lock_guard const guard(b.lock);
  for (int number = 1; number <= os::watched_signal_max; ++number) {
    std::uint64_t const bit = std::uint64_t{1} << static_cast<unsigned>(number);
    if ((came & bit) == 0) continue;
    for (subscriber& s : b.all) {
      if ((s.wants & bit) != 0) static_cast<void>(s.to.try_send(number));
    }
  }
}

void serve() {
  std::uint64_t rings = 0;
  std::error_code error;
  for (;;) {
    board().bell.read_some({&rings, sizeof rings}, error);
    if (error) return;
    tell(os::take_noted_signals());
  }
}

// Under the lock.
void start_serving(switchboard& b, std::error_code& error) {
  if (!b.bell.is_open()) {
    int const made = os::signal_bell();
    if (made < 0) {
      error = system_error_of(-made);
      return;
    }
    b.bell = fd(made, error);
    if (error) return;
  }
  std::uint32_t const epoch = Sched::live_epoch.load(relaxed);  // relaxed: the caller is in that run
  if (b.served_in == epoch) return;
  go(serve);
  b.served_in = epoch;
}

// Under the lock.
void give_up(switchboard& b, std::uint64_t wants) noexcept {
  for (int number = 1; number <= os::watched_signal_max; ++number) {
    if ((wants >> static_cast<unsigned>(number) & 1U) == 0) continue;
    if (--b.wanted_by[static_cast<std::size_t>(number)] == 0) os::unwatch_signal(number);
  }
}

// What the runtime itself needs: faults, by which stack overflows are found, and the preemption signal, also an earlier run's if it left
// somebody computing.
bool is_ours(int number) {
  M* const m = callers_m();
  if (m == nullptr) throw std::logic_error("thrum: signals() while no runtime is alive");
  return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
         os::pause_signal_is_kept(number) ||
         (m->sched.options.async_preemption && number == m->sched.options.preempt_signal);
}

}  // namespace

chan<int> signals(std::initializer_list<int> numbers, std::error_code& error) {
  constexpr std::size_t capacity = 16;
  error.clear();
  if (numbers.size() == 0) {
    error = system_error_of(EINVAL);
    return nullptr;
  }
  switchboard& b = board();
  std::lock_guard const guard(b.lock);
  start_serving(b, error);
  if (error) return nullptr;
  subscriber made{chan<int>(capacity), 0};
  b.all.reserve(b.all.size() + 1);
  for (int const number : numbers) {
    bool const is_valid = number >= 1 && number <= os::watched_signal_max;
    std::uint64_t const bit = is_valid ? std::uint64_t{1} << static_cast<unsigned>(number) : 0;
    if ((made.wants & bit) != 0) continue;
    int const failed = !is_valid || is_ours(number)                         ? EINVAL
                       : b.wanted_by[static_cast<std::size_t>(number)] == 0 ? os::watch_signal(number)
                                                                            : 0;
    if (failed != 0) {
      give_up(b, made.wants);
      error = system_error_of(failed);
      return nullptr;
    }
    ++b.wanted_by[static_cast<std::size_t>(number)];
    made.wants |= bit;
  }
  b.all.push_back(made);
  return made.to;
}

void stop_signals(chan<int> const& subscribed) {
  switchboard& b = board();
  std::lock_guard const guard(b.lock);
  std::erase_if(b.all, [&](subscriber const& s) {
    if (!(s.to == subscribed)) return false;
    give_up(b, s.wants);
    return true;
  });
}

}  // namespace thrum
