#include "glob.h"

#include <algorithm>

namespace kv {
namespace {

// `set` begins behind the bracket and loses what belongs to it, the closing bracket too. One that is not closed ends with the pattern.
bool takes_set(std::string_view& set, char c) noexcept {
  bool const negated = set.starts_with('^');
  if (negated) set.remove_prefix(1);
  bool found = false;
  while (!set.empty() && set.front() != ']') {
    if (set.front() == '\\' && set.size() >= 2) set.remove_prefix(1);
    char first = set.front();
    char last = first;
    set.remove_prefix(1);
    if (set.size() >= 2 && set[0] == '-') {
      last = set[1];
      set.remove_prefix(2);
    }
    if (first > last) std::swap(first, last);
    found |= first <= c && c <= last;
  }
  if (!set.empty()) set.remove_prefix(1);
  return found != negated;
}

// Whether the pattern's first item, not a star, is c; the item is taken.
bool takes_one(std::string_view& pattern, char c) noexcept {
  char const item = pattern.front();
  pattern.remove_prefix(1);
  if (item == '?') return true;
  if (item == '[') return takes_set(pattern, c);
  if (item == '\\' && !pattern.empty()) {
    char const meant = pattern.front();
    pattern.remove_prefix(1);
    return meant == c;
  }
  return item == c;
}

}  // namespace

// When something does not fit, the last star takes one character more: earlier stars never have to. So no pattern takes more
// than its length times the text's.
bool matches(std::string_view pattern, std::string_view text) noexcept {
  bool has_star = false;
  std::string_view after_star;
  std::string_view star_text;
  while (!text.empty() || !pattern.empty()) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      if (pattern.empty()) return true;
      has_star = true;
      after_star = pattern;
      star_text = text;
      continue;
    }
    if (!pattern.empty() && !text.empty() && takes_one(pattern, text.front())) {
      text.remove_prefix(1);
      continue;
    }
    if (!has_star || star_text.empty()) return false;
    star_text.remove_prefix(1);
    pattern = after_star;
    text = star_text;
  }
  return true;
}

}  // namespace kv
