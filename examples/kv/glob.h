// Patterns for keys and channels: * and ?, sets such as [abc], [a-z] and [^a], and \ before a character that stands for
// itself.
#pragma once

#include <string_view>

namespace kv {

[[nodiscard]] bool matches(std::string_view pattern, std::string_view text) noexcept;

}  // namespace kv
