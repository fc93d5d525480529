// System calls that are repeated when a signal interrupts them.
#pragma once

#include "os/fault.h"

#include <errno.h>

namespace thrum::rt::os {

// Repeats a call while signals interrupt it. Returns its result or -errno. Restores errno. always_inline, so that the
// opaque function that makes the call also reads errno (T08).
template <class F>
[[gnu::always_inline]] inline long repeat(F made) noexcept {
  int const errno_before = errno;
  for (;;) {
    long const result = made();
    if (result >= 0) return result;
    int const error = errno;
    errno = errno_before;
    if (error != EINTR) return -error;
  }
}

// The same with fault injection.
template <class F>
[[gnu::always_inline]] inline long repeat(call kind, F made) noexcept {
  for (int injected = 0; should_fail(kind, injected);) {
    if (injected != EINTR) return -injected;
  }
  return repeat(made);
}

}  // namespace thrum::rt::os
