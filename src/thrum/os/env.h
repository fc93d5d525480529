// Settings from the environment. They are read while a run starts, before threads of the run could call setenv. No
// locks, no allocation.
#pragma once

#include <cstdint>
#include <string_view>

namespace thrum::rt::os {

// The text of the variable, which the environment owns. nullptr: it is not set, or the program has more rights than the
// user who started it (setuid). Some variables name files that are written.
[[nodiscard]] char const* environment(char const* name) noexcept;

// Looks for `key` in a list like THRUM_DEBUG's "schedtrace=1000,seed=-7". Values are decimal numbers of 64 bits with an
// optional minus sign, and there are no spaces. The last entry of a key counts. Returns false and leaves `value`
// unchanged if the list is null, the key is missing, or that entry is malformed. Malformed entries of other keys are
// ignored.
[[nodiscard]] bool debug_setting(char const* list, char const* key, std::int64_t& value) noexcept;

// The same for a value that is a word. Empty if the list is null or the key is missing.
[[nodiscard]] std::string_view debug_word(char const* list, char const* key) noexcept;

}  // namespace thrum::rt::os
