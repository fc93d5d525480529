// Waits for an event in a test, without sleeping. After a generous time limit the test fails instead of hanging.
//
//   ASSERT_TRUE(wait_until([&] { return started.load() == 8; }));
//
// On a goroutine it yields, so that it also works with one P. It also yields the thread, because the machine may have
// fewer CPUs than the test has Ms.
#pragma once

#include "core/current.h"
#include "os/clock.h"
#include "os/thread.h"
#include <thrum/go.h>

#include <cstdint>

namespace thrum::test {

inline constexpr std::int64_t wait_limit_ns = 30'000'000'000;

template <class Predicate>
[[nodiscard]] bool wait_until(Predicate holds, std::int64_t limit_ns = wait_limit_ns) {
  std::int64_t const until_ns = rt::os::monotonic_ns() + limit_ns;
  while (!holds()) {
    if (rt::os::monotonic_ns() > until_ns) return holds();
    if (rt::M const* const m = rt::current_m(); m != nullptr && m->current != nullptr) thrum::yield();
    rt::os::yield_thread();
  }
  return true;
}

// The same on a goroutine, without yielding the thread. For crowds: under load each yield of the thread gives the CPU
// away for some milliseconds, and hundreds of goroutines have to yield tens of thousands of times before the last one
// has come from the global queue (one entry in 61 turns).
template <class Predicate>
[[nodiscard]] bool yield_until(Predicate holds, std::int64_t limit_ns = wait_limit_ns) {
  std::int64_t const until_ns = rt::os::monotonic_ns() + limit_ns;
  while (!holds()) {
    if (rt::os::monotonic_ns() > until_ns) return holds();
    thrum::yield();
  }
  return true;
}

// The same without yielding the P, so other goroutines of this P do not run meanwhile.
template <class Predicate>
[[nodiscard]] bool spin_until(Predicate holds, std::int64_t limit_ns = wait_limit_ns) {
  std::int64_t const until_ns = rt::os::monotonic_ns() + limit_ns;
  while (!holds()) {
    if (rt::os::monotonic_ns() > until_ns) return holds();
    rt::os::yield_thread();
  }
  return true;
}

}  // namespace thrum::test
