// The Range header: one range of bytes. Several are answered as if none had been asked for, which is allowed.
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

// "bytes=0-99", "bytes=100-", "bytes=-100" of so many bytes.
[[nodiscard]] byte_range range_in(std::string_view header_value, std::uint64_t size) noexcept;

}  // namespace http
