#include "os/clock.h"

#include "base/current_tid.h"
#include "os/fault.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

namespace thrum::rt::os {

std::int64_t monotonic_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // cannot fail with this clock and a valid address
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::uint64_t random_seed() noexcept {
  int const errno_before = errno;
  std::uint64_t seed = 0;
  int injected = 0;
  if (!should_fail(call::getrandom, injected) &&
      ::getrandom(&seed, sizeof seed, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof seed)) {
    return seed;
  }
  errno = errno_before;
  // splitmix64's final step spreads the differences between two threads or two moments over all bits. The address of a
  // local variable adds the kernel's randomisation of the stack.
  seed = static_cast<std::uint64_t>(monotonic_ns()) ^ (static_cast<std::uint64_t>(current_tid()) << 40U) ^
         reinterpret_cast<std::uintptr_t>(&seed);
  seed += 0x9e3779b97f4a7c15ULL;
  seed = (seed ^ (seed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  seed = (seed ^ (seed >> 27U)) * 0x94d049bb133111ebULL;
  return seed ^ (seed >> 31U);
}

}  // namespace thrum::rt::os
