#pragma once

#include <signal.h>

namespace thrum::rt::os {

// The set with this signal alone.
[[nodiscard]] inline sigset_t only(int signal) noexcept {
  sigset_t result;
  ::sigemptyset(&result);
  ::sigaddset(&result, signal);
  return result;
}

}  // namespace thrum::rt::os
