// Whether a call may park, and how one that must block is made elsewhere.
#pragma once

#include "base/platform.h"
#include "core/current.h"
#include "sched/home.h"
#include <thrum/blocking.h>
#include <thrum/go.h>

#include <cstddef>

#include <errno.h>
#include <netdb.h>

namespace thrum::posix {

// Not: inside the runtime; on another stack than the goroutine's; of a run that is over; or with THRUM_DEBUG=posixoff=1.
[[nodiscard]] bool is_on_own_stack(rt::M const& m) noexcept;
// Nor inside a call that was announced.
[[nodiscard]] bool is_in_user_code(rt::M const& m) noexcept;

// The caller is a goroutine whose calls park. One load on all other threads.
[[nodiscard, gnu::always_inline]] inline bool on_goroutine() noexcept {
  rt::M const* const m = rt::current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign) [[likely]]
    return false;
  return is_in_user_code(*m);
}

// Asked only before a wait, which is then the plain call's: here the goroutine must not park.
//  - In a child of fork or vfork, which has its memory but no scheduler.
//  - Where the thread's signal mask is not that of all Ms. A handler has its signal in it, and runs on the goroutine's stack if it was not
//    given another: what it interrupted may be malloc, with its lock, and whoever ran on this thread meanwhile would wait for that lock
//    for ever. Where the program itself has changed the mask, others would run with it.
[[nodiscard]] bool must_not_park() noexcept;

// What the goroutine was given instead of the usual stack; 0: nothing. Whoever makes a call for it has the same.
[[nodiscard]] std::size_t own_stack_bytes() noexcept;

// With the caller's errno and h_errno, which may be another thread's. Opaque: their addresses are those of the thread on which f is
// called (T08).
template <class F, class R>
THRUM_OPAQUE void perform(F& f, R& result, int& error, int& host_error) noexcept {
  errno = error;
  h_errno = host_error;
  result = f();
  error = errno;
  host_error = h_errno;
}

struct nothing_first {};

// f, which may sleep in the kernel, is called by another goroutine on another thread; this one waits at home. errno and h_errno are f's. The
// other goroutine has a First while it calls, which it may have to wait for.
template <class First = nothing_first, class F>
[[nodiscard]] auto by_helper(F f) noexcept {
  decltype(f()) result{};
  int error = errno;
  int host_error = h_errno;
  if (must_not_park()) {
    perform(f, result, error, host_error);
    return result;
  }
  try {
    rt::at_home const here;
    auto const announced = [&]() noexcept {
      [[maybe_unused]] First const its_turn;
      blocking_scope const waits(blocking_hint::long_call);
      perform(f, result, error, host_error);
    };
    std::size_t const stack = own_stack_bytes();
    auto helper = stack == 0 ? thrum::spawn(announced) : thrum::spawn(stack_size{stack}, announced);
    helper.join();
  } catch (...) {  // no memory for a goroutine
    perform(f, result, error, host_error);
  }
  errno = error;
  h_errno = host_error;
  return result;
}

}  // namespace thrum::posix
