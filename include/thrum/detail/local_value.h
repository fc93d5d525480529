// What thrum::local<T> is built on: a list of values in the goroutine, keyed by the variable.
#pragma once

#include <cstdint>

namespace thrum::detail {

struct local_value {
  std::uint64_t key;
  local_value* next;
  void (*destroy)(local_value*) noexcept;
};

[[nodiscard]] std::uint64_t new_local_key() noexcept;  // never the same twice

// The current goroutine's value, or nullptr. Both throw std::logic_error outside a goroutine.
[[nodiscard]] local_value* find_local(std::uint64_t key);
void add_local(local_value* made);

}  // namespace thrum::detail
