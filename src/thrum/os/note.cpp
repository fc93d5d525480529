#include "os/note.h"

#include "base/check.h"
#include "os/clock.h"
#include "os/epoll.h"

#include <cstdint>
#include <limits>

namespace thrum::rt::os {

bool note::announce(std::uint32_t how) noexcept {
  std::uint32_t seen = empty;
  // The acquire on failure pairs with wake()'s exchange. The release has no partner in the program. It is for the way
  // through the kernel, because the thread that notifies the poller has seen this value.
  if (word_.compare_exchange(seen, how, acq_rel, acquire)) return true;
  THRUM_CHECK(seen == woken);  // any other value means a second sleeper
  return false;
}

void note::sleep() noexcept {
  if (!announce(sleeping)) return;
  do {
    futex_wait(word_, sleeping);
  } while (word_.load(acquire) != woken);  // pairs with wake()'s exchange
}

bool note::sleep_for(std::int64_t ns) noexcept {
  if (is_woken()) return true;
  if (ns <= 0) return false;
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  std::int64_t const now = monotonic_ns();
  return sleep_until(ns < never - now ? now + ns : never);
}

bool note::sleep_until(std::int64_t deadline_ns) noexcept {
  if (!announce(sleeping)) return true;
  wait_result result{};
  do {
    result = futex_wait_until(word_, sleeping, deadline_ns);
    if (is_woken()) return true;
  } while (result != wait_result::timed_out);
  return !take_back(sleeping);
}

// Makes the note clear. Fails if a wake has come meanwhile, so that the wake is not lost.
bool note::take_back(std::uint32_t how) noexcept {
  // The acquire on failure pairs with wake()'s exchange.
  return word_.compare_exchange(how, empty, acquire, acquire);
}

bool note::begin_poll() noexcept { return announce(polling); }
bool note::end_poll() noexcept { return !take_back(polling); }

void note::wake() noexcept {
  // release: pairs with the acquires in sleep(), announce(), take_back() and is_woken(). After the exchange the note
  // may be destroyed.
  std::uint32_t const before = word_.exchange(woken, release);
  if (before == sleeping) {
    futex_wake(word_, 1);
  } else if (before == polling) {
    notify_poller();
  } else if (before == woken) {
    fatal("internal error: a note was woken twice");
  }
}

}  // namespace thrum::rt::os
