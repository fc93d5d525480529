// Settings from the environment, read while starting, before other threads could call setenv.
#pragma once

#include <cstdint>
#include <string_view>

namespace thrum::rt::os {

// The variable's text, owned by the environment; nullptr when it is not set.
[[nodiscard]] char const* environment(char const* name) noexcept;

// Looks for `key` in a list like THRUM_DEBUG's "schedtrace=1000,seed=-7". Values are decimal, with an
// optional minus sign, and fit 64 bits; there are no spaces. The last entry of a key counts. False, with
// `value` untouched, when the list is null, the key is missing, or that entry is malformed; malformed entries
// of other keys do no harm.
[[nodiscard]] bool debug_setting(char const* list, char const* key, std::int64_t& value) noexcept;

// The same for a value that is a word; empty when the list is null or the key is missing.
[[nodiscard]] std::string_view debug_word(char const* list, char const* key) noexcept;

}  // namespace thrum::rt::os
