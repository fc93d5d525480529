// defer: runs a function at the end of the scope, also during unwinding.
//
//   thrum::defer close = [&] { ::close(fd); };
//
// It runs on the goroutine that owns the scope. Several defers run in reverse order of declaration. The function must
// not throw.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <type_traits>
#include <utility>

namespace thrum {

template <class F>
class [[nodiscard]] defer {
 public:
  // Not explicit, so that `defer d = [&] { ... };` works.
  defer(F f) noexcept(std::is_nothrow_move_constructible_v<F>) : f_(std::move(f)) {}  // NOLINT
  defer(defer const&) = delete;
  defer& operator=(defer const&) = delete;
  ~defer() { f_(); }

 private:
  F f_;
};

}  // namespace thrum
