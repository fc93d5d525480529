// Errors of streams that are not errors of the system.
//
//   conn.read_full(header, error);
//   if (error == thrum::io_errc::unexpected_end) ...   // the peer closed in the middle of a header
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <system_error>
#include <type_traits>

namespace thrum {

enum class io_errc {
  unexpected_end = 1,  // read_full got some bytes, and then the stream ended
};

[[nodiscard]] std::error_category const& io_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(io_errc e) noexcept {
  return {static_cast<int>(e), io_category()};
}

}  // namespace thrum

template <>
struct std::is_error_code_enum<thrum::io_errc> : std::true_type {};
