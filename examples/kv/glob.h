// Patterns for keys and channels: * and ?, sets as [abc], [a-z] and [^a], and \ before what is meant as it is.
#pragma once

#include <string_view>

namespace kv {

[[nodiscard]] bool matches(std::string_view pattern, std::string_view text) noexcept;

}  // namespace kv
