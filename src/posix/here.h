// Whether a call of the C library may park its goroutine, and how a call that has to block is made on another thread.
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

// True if m's goroutine runs user code on its own stack. False inside the runtime, on another stack, in a run that is
// over, and with THRUM_DEBUG=posixoff=1.
[[nodiscard]] bool is_on_own_stack(rt::M const& m) noexcept;
// As is_on_own_stack, but also false inside an announced call.
[[nodiscard]] bool is_in_user_code(rt::M const& m) noexcept;

// True if the caller is a goroutine whose calls park. On all other threads this costs one load.
[[nodiscard, gnu::always_inline]] inline bool on_goroutine() noexcept {
  rt::M const* const m = rt::current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign) [[likely]]
    return false;
  return is_in_user_code(*m);
}

// True if the goroutine must not park here. It is asked only before a wait; the C library's own function waits instead.
//  - A child of fork or vfork has the goroutine's memory but no scheduler.
//  - The thread's signal mask may differ from that of the Ms. That is so in a signal handler, which runs on the
//    goroutine's stack unless it has a stack of its own. The handler may have interrupted malloc, which holds its lock,
//    and another goroutine that ran on this thread meanwhile would wait for that lock for ever. If the program itself
//    has changed the mask, other goroutines would run with it.
[[nodiscard]] bool must_not_park() noexcept;

// The stack size that was chosen for this goroutine, or 0 for the default. A goroutine that makes a call for it gets
// the same.
[[nodiscard]] std::size_t own_stack_bytes() noexcept;

// Calls f with the caller's errno and h_errno, and stores both afterwards. It is opaque to the optimiser, because the
// addresses of errno and h_errno have to be those of the thread on which f is called, which may not be the caller's
// (T08).
template <class F, class R>
THRUM_OPAQUE void perform(F& f, R& result, int& error, int& host_error) noexcept {
  errno = error;
  h_errno = host_error;
  result = f();
  error = errno;
  host_error = h_errno;
}

struct nothing_first {};

// Lets a new goroutine, the helper, call f on another thread, because f may sleep in the kernel. The caller waits at
// home (sched/home.h) and returns with f's errno and h_errno. The helper holds a First during the call, for which it
// may have to wait.
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
  } catch (...) {  // there is no memory for a goroutine, so this thread makes the call
    perform(f, result, error, host_error);
  }
  errno = error;
  h_errno = host_error;
  return result;
}

}  // namespace thrum::posix
