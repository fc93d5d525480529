// The basis of thrum::local<T>: a list of values in the goroutine, with the variable as key.
#pragma once

#include <cstdint>

namespace thrum::detail {

struct local_value {
  std::uint64_t key;
  local_value* next;
  void (*destroy)(local_value*) noexcept;
};

[[nodiscard]] std::uint64_t new_local_key() noexcept;  // never returns the same key twice

// The current goroutine's value, or nullptr. Both throw std::logic_error outside a goroutine.
[[nodiscard]] local_value* find_local(std::uint64_t key);
void add_local(local_value* made);

}  // namespace thrum::detail
