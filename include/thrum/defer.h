// defer: something to do at the end of the scope, also while unwinding.
//
//   thrum::defer close = [&] { ::close(fd); };
//
// Runs on the goroutine that owns the scope, in reverse order of declaration. What it calls must not throw.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <type_traits>
#include <utility>

namespace thrum {

template <class F>
class [[nodiscard]] defer {
 public:
  // Not explicit: `defer d = [&] { ... };` is how it is written.
  defer(F f) noexcept(std::is_nothrow_move_constructible_v<F>) : f_(std::move(f)) {}  // NOLINT
  defer(defer const&) = delete;
  defer& operator=(defer const&) = delete;
  ~defer() { f_(); }

 private:
  F f_;
};

}  // namespace thrum
