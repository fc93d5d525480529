// blocking: a system call that may keep its thread waiting, announced, so that the other goroutines run on.
//
//   ssize_t n = thrum::blocking([&] { return ::read(fd, buffer, size); });
//   thrum::blocking([&] { ::fsync(fd); }, thrum::blocking_hint::long_call);
//   { thrum::blocking_scope const waits; library.query(); }
//
// While f runs, its goroutine's processor may be given to others: by itself when the call takes longer than some ten
// microseconds and others are waiting; at once for a long_call. The pair costs some 10 nanoseconds when the call is short.
// f may use thrum: it then comes back for as long as that takes. Channels, mutexes, timers and sleeps of thrum need none of
// this: they never block a thread.
//
// f's result is blocking's, and so is what it throws. The goroutine may be on another thread inside f than before, and afterwards: so
// look at errno inside f. Blocks the goroutine. On a thread that is no goroutine's it just calls f. Scopes nest; the outermost counts.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>

namespace thrum {

enum class blocking_hint : std::uint8_t {
  may_be_short,
  long_call,  // the processor is given away at once
};

namespace detail {
void begin_blocking(blocking_hint hint) noexcept;
void end_blocking() noexcept;
}  // namespace detail

class [[nodiscard]] blocking_scope {
 public:
  explicit blocking_scope(blocking_hint hint = blocking_hint::may_be_short) noexcept { detail::begin_blocking(hint); }
  ~blocking_scope() { detail::end_blocking(); }
  blocking_scope(blocking_scope const&) = delete;
  blocking_scope& operator=(blocking_scope const&) = delete;
};

template <std::invocable F>
decltype(auto) blocking(F&& f, blocking_hint hint = blocking_hint::may_be_short) {
  blocking_scope const announced(hint);
  return std::invoke(std::forward<F>(f));
}

}  // namespace thrum
