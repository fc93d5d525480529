// A field of a record that only the class Writer changes. Everything else can only read it, and reads it like a plain
// field. So the compiler proves what a comment would otherwise promise.
#pragma once

#include "base/atomic.h"

namespace thrum::rt {

template <class Writer, class T>
class written_by {
 public:
  constexpr written_by() noexcept = default;
  written_by(written_by const&) = delete;

  constexpr operator T const&() const noexcept { return value_; }
  [[nodiscard]] constexpr T const& value() const noexcept { return value_; }

 private:
  friend Writer;
  written_by& operator=(T value) noexcept {
    value_ = value;
    return *this;
  }

  T value_{};
};

template <class Writer, class T>
[[nodiscard]] T hint_of(written_by<Writer, T> const& field) noexcept {
  return hint_of(static_cast<T const&>(field));
}

}  // namespace thrum::rt
