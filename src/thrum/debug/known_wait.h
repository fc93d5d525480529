// How long a goroutine has waited, for dumps and other reports.
#pragma once

#include "core/g.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace thrum::rt {

// For a goroutine that waits for `reason`. It is known of waits for a mutex. Of others it is known after some seconds,
// and then at least so long.
[[nodiscard]] inline std::optional<std::int64_t> known_wait_ns(G const& g, wait_reason reason,
                                                               std::int64_t now_ns) noexcept {
  bool const is_aged = (g.attention.load(acquire) & g_attend::aged) != 0;  // pairs with parked_stacks
  if (reason != wait_reason::mutex && !is_aged) return std::nullopt;
  return std::max<std::int64_t>(now_ns - g.waits_since_ns.load(relaxed), 0);
}

}  // namespace thrum::rt
