#include "inline_words.h"

#include <cctype>
#include <charconv>
#include <cstddef>
#include <utility>

namespace kv {
namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\0'; }

// Returns the character that a backslash sequence stands for. `rest` begins with the character after the backslash, and
// the used part is removed from it.
char take_escaped(std::string_view& rest) {
  if (rest.size() >= 3 && rest[0] == 'x') {
    unsigned char value = 0;
    if (std::from_chars(rest.data() + 1, rest.data() + 3, value, 16).ptr == rest.data() + 3) {
      rest.remove_prefix(3);
      return static_cast<char>(value);
    }
  }
  char const c = rest.front();
  rest.remove_prefix(1);
  switch (c) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'b': return '\b';
    case 'a': return '\a';
    default: return c;
  }
}

// Takes everything up to and including the closing quote. Returns false if there is none, or if no blank follows it.
bool take_quoted(std::string_view& rest, char quote, std::string& word) {
  while (!rest.empty()) {
    char const c = rest.front();
    rest.remove_prefix(1);
    if (c == quote) return rest.empty() || is_blank(rest.front());
    if (c == '\\' && !rest.empty() && quote == '"') {
      word += take_escaped(rest);
    } else if (c == '\\' && rest.starts_with('\'')) {
      word += '\'';
      rest.remove_prefix(1);
    } else {
      word += c;
    }
  }
  return false;
}

}  // namespace

std::optional<std::vector<std::string>> split_words(std::string_view line) {
  std::vector<std::string> words;
  for (;;) {
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    if (line.empty()) return words;
    std::string word;
    while (!line.empty() && !is_blank(line.front())) {
      char const c = line.front();
      line.remove_prefix(1);
      if (c != '"' && c != '\'') {
        word += c;
      } else if (!take_quoted(line, c, word)) {
        return std::nullopt;
      }
    }
    words.push_back(std::move(word));
  }
}

}  // namespace kv
