// The words of a scenario's text.
#pragma once

#include "command/play/scenario.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrum::command {

enum class token_kind : std::uint8_t { word, open, close, separator, end };

struct token {
  token_kind kind = token_kind::end;
  std::string_view text{};
  position at{};
};

// The last token is token_kind::end. Comments and blanks are left out; a separator is a semicolon or the end of a line.
// Throws scenario_error if a character belongs to no token, or if the text is too long.
[[nodiscard]] std::vector<token> tokens_of(std::string_view text);

// The lines of the text, for people.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

// The token in a message, in quotes: at most 40 bytes of it.
[[nodiscard]] std::string quoted(token const& one);

}  // namespace thrum::command
