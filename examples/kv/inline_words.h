// The words of an inline command, separated by blanks. A word may be "in quotes" with \n, \r, \t, \b, \a, \xff and \"
// inside, or 'like this' with only \' inside.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kv {

// Returns nothing if a quote is not closed, or if no blank follows a closing quote.
[[nodiscard]] std::optional<std::vector<std::string>> split_words(std::string_view line);

}  // namespace kv
