#include "os/futex.h"

#include "base/check.h"
#include "os/fault.h"
#include "os/unknown_child.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

// Returns the kernel's result of 0 or more, or -errno. Leaves errno unchanged.
long futex_call(std::uint32_t* word, int operation, std::uint32_t value, timespec const* timeout) noexcept {
  int const errno_before = errno;
  long const result = ::syscall(SYS_futex, word, operation, value, timeout, nullptr, FUTEX_BITSET_MATCH_ANY);
  if (result >= 0) return result;
  int const error = errno;
  errno = errno_before;
  return -error;
}

timespec timespec_of(std::int64_t ns) noexcept {
  timespec result{};
  result.tv_sec = ns / 1'000'000'000;
  result.tv_nsec = ns % 1'000'000'000;
  return result;
}

wait_result wait_result_of(long result) noexcept {
  switch (-result) {
    case 0: return wait_result::woken;
    case EAGAIN: return wait_result::value_changed;
    case ETIMEDOUT: return wait_result::timed_out;
    case EINTR: return wait_result::interrupted;
    default: fatal("internal error: futex wait failed; errno=%d", static_cast<int>(-result));
  }
}

}  // namespace

// Opaque, as futex_wake is, because the address of errno must not be reused in a caller that changes threads (T08).
THRUM_OPAQUE wait_result futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                                    std::int64_t timeout_ns) noexcept {
  end_if_unknown_child();
  timespec const limit = timespec_of(timeout_ns);
  int injected = 0;
  if (should_fail(call::futex, injected)) return wait_result_of(-injected);
  return wait_result_of(futex_call(word.address(), FUTEX_WAIT_PRIVATE, expected, timeout_ns >= 0 ? &limit : nullptr));
}

// FUTEX_WAIT takes a duration, and FUTEX_WAIT_BITSET takes a point in time. Both use the monotonic clock.
THRUM_OPAQUE wait_result futex_wait_until(atomic<std::uint32_t>& word, std::uint32_t expected,
                                          std::int64_t deadline_ns) noexcept {
  end_if_unknown_child();
  timespec const limit = timespec_of(deadline_ns);
  int injected = 0;
  if (should_fail(call::futex, injected)) return wait_result_of(-injected);
  return wait_result_of(futex_call(word.address(), FUTEX_WAIT_BITSET_PRIVATE, expected, &limit));
}

THRUM_OPAQUE int futex_wake(atomic<std::uint32_t>& word, int count) noexcept {
  int injected = 0;
  long const result = should_fail(call::futex_wake, injected)
                          ? -injected
                          : futex_call(word.address(), FUTEX_WAKE_PRIVATE, static_cast<std::uint32_t>(count), nullptr);
  // EFAULT: the word was unmapped after the waiter had returned. Linux does not access the word, but an emulator may.
  if (result == -EFAULT) return 0;
  if (result < 0) fatal("internal error: futex wake failed; errno=%d", static_cast<int>(-result));
  return static_cast<int>(result);
}

void sleep_for_good() noexcept {
  atomic<std::uint32_t> never{0};
  for (;;) futex_wait(never, 0);
}

}  // namespace thrum::rt::os
