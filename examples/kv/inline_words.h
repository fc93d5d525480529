// The words of an inline command: between blanks; "in quotes" with \n, \r, \t, \b, \a, \xff and \" inside, or 'like this' with \' alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kv {

// Nothing: a quote is not closed, or more follows right behind it.
[[nodiscard]] std::optional<std::vector<std::string>> split_words(std::string_view line);

}  // namespace kv
