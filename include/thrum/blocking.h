// blocking: announces a system call that may block its thread, so that other goroutines can run meanwhile.
//
//   ssize_t n = thrum::blocking([&] { return ::read(fd, buffer, size); });
//   thrum::blocking([&] { ::fsync(fd); }, thrum::blocking_hint::long_call);
//   { thrum::blocking_scope const waits; library.query(); }
//
// While f runs, the P of its goroutine may be given to other goroutines. That happens at once for a long_call;
// otherwise it happens when the call takes longer than some ten microseconds and other goroutines wait. For a short
// call, blocking costs some 10 nanoseconds. f may use thrum; the goroutine has a P during each such use. Channels,
// mutexes, timers and sleeps of thrum need no blocking(), because they never block a thread.
//
// blocking returns what f returns and throws what f throws. The goroutine may be on a different thread inside f than
// before, and on yet another thread afterwards, so read errno inside f. blocking blocks the goroutine. On a thread that
// is not a goroutine it just calls f. Scopes nest, and only the outermost one has an effect.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>

namespace thrum {

enum class blocking_hint : std::uint8_t {
  may_be_short,
  long_call,  // the P is given away at once
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
