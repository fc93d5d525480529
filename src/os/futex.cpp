#include "os/futex.h"

#include "base/check.h"
#include "os/fault.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

// 0 or more from the kernel, or -errno; errno itself stays as it was.
long futex_call(std::uint32_t* word, int operation, std::uint32_t value, timespec const* timeout) noexcept {
  int const errno_before = errno;
  long const result = ::syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
  if (result >= 0) return result;
  int const error = errno;
  errno = errno_before;
  return -error;
}

}  // namespace

// Opaque, as futex_wake is: errno's address must not be shared with a caller that changes threads in between.
THRUM_OPAQUE wait_result futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                                    std::int64_t timeout_ns) noexcept {
  timespec limit{};
  if (timeout_ns >= 0) {
    limit.tv_sec = timeout_ns / 1'000'000'000;
    limit.tv_nsec = timeout_ns % 1'000'000'000;
  }
  int injected = 0;
  long const result = should_fail(call::futex, injected) ? -injected
                                                         : futex_call(word.address(), FUTEX_WAIT_PRIVATE, expected,
                                                                      timeout_ns >= 0 ? &limit : nullptr);
  switch (-result) {
    case 0: return wait_result::woken;
    case EAGAIN: return wait_result::value_changed;
    case ETIMEDOUT: return wait_result::timed_out;
    case EINTR: return wait_result::interrupted;
    default: fatal("internal error: futex wait failed; errno=%d", static_cast<int>(-result));
  }
}

THRUM_OPAQUE int futex_wake(atomic<std::uint32_t>& word, int count) noexcept {
  int injected = 0;
  long const result = should_fail(call::futex_wake, injected)
                          ? -injected
                          : futex_call(word.address(), FUTEX_WAKE_PRIVATE, static_cast<std::uint32_t>(count), nullptr);
  // EFAULT: the word was unmapped after the waiter was let go. Linux does not even look; an emulator may.
  if (result == -EFAULT) return 0;
  if (result < 0) fatal("internal error: futex wake failed; errno=%d", static_cast<int>(-result));
  return static_cast<int>(result);
}

}  // namespace thrum::rt::os
