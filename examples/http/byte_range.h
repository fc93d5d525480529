// The Range header, for one range of bytes. A request for several ranges is answered as if it had no Range header,
// which HTTP allows.
#pragma once

#include <cstdint>
#include <string_view>

namespace http {

struct byte_range {
  enum class kind : std::uint8_t { whole, part, unsatisfiable };
  kind what = kind::whole;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// Parses "bytes=0-99", "bytes=100-" or "bytes=-100" for a file of `size` bytes.
[[nodiscard]] byte_range range_in(std::string_view header_value, std::uint64_t size) noexcept;

}  // namespace http
