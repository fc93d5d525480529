// sleep, usleep, nanosleep, clock_nanosleep, thrd_sleep. On a goroutine they park, and signals do not end them.
#include "posix/here.h"
#include "posix/interpose.h"
#include "posix/limit.h"
#include "posix/plain.h"
#include <thrum/sleep.h>

#include <new>

#include <unistd.h>

namespace thrum::posix {
namespace {

// Returns false if the goroutine cannot park here.
bool sleep_until(std::int64_t when_ns) noexcept {
  if (must_not_park()) return false;
  try {
    rt::at_home const here;
    detail::sleep_until_ns(when_ns);
  } catch (std::bad_alloc const&) {
    return false;
  }
  return true;
}

bool sleep_for(std::int64_t ns) noexcept { return sleep_until(deadline_after(ns)); }

// True if the sleep can be measured by the monotonic clock. Clock 0 is the wall clock; setting it does not change the
// length of a relative sleep.
bool runs_as_ours(clockid_t clock, int flags) noexcept {
  return clock == CLOCK_MONOTONIC || (clock == 0 && (flags & TIMER_ABSTIME) == 0);
}

bool may_sleep(timespec const* length) noexcept {
  return on_goroutine() && length != nullptr && is_valid(*length) && in_ns(*length) != 0;
}

}  // namespace
}  // namespace thrum::posix

using namespace thrum::posix;

THRUM_POSIX_FILE(sleep);

THRUM_POSIX_CALL unsigned sleep(unsigned seconds) {
  if (seconds == 0 || !on_goroutine()) return plain::sleep(seconds);
  return thrum::posix::sleep_for(seconds * ns_per_s) ? 0 : plain::sleep(seconds);
}

THRUM_POSIX_CALL int usleep(useconds_t us) {
  if (us == 0 || !on_goroutine()) return plain::usleep(us);
  return thrum::posix::sleep_for(std::int64_t{us} * 1000) ? 0 : plain::usleep(us);
}

THRUM_POSIX_CALL int nanosleep(timespec const* length, timespec* left) {
  if (!may_sleep(length)) return plain::nanosleep(length, left);
  return thrum::posix::sleep_for(in_ns(*length)) ? 0 : plain::nanosleep(length, left);
}

THRUM_POSIX_CALL int clock_nanosleep(clockid_t clock, int flags, timespec const* when, timespec* left) {
  auto const plainly = [&] { return plain::clock_nanosleep(clock, flags, when, left); };
  if ((flags & ~TIMER_ABSTIME) != 0 || !may_sleep(when)) return plainly();
  if (!runs_as_ours(clock, flags)) return by_helper(plainly);
  bool const is_moment = (flags & TIMER_ABSTIME) != 0;
  bool const done = is_moment ? thrum::posix::sleep_until(in_ns(*when)) : thrum::posix::sleep_for(in_ns(*when));
  return done ? 0 : plainly();
}

THRUM_POSIX_CALL int thrd_sleep(timespec const* length, timespec* left) {
  if (!may_sleep(length)) return plain::thrd_sleep(length, left);
  return thrum::posix::sleep_for(in_ns(*length)) ? 0 : plain::thrd_sleep(length, left);
}

THRUM_POSIX_CALL int __nanosleep(timespec const* length, timespec* left) { return nanosleep(length, left); }
