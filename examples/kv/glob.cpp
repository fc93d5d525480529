#include "glob.h"

#include <algorithm>

namespace kv {
namespace {

// `set` begins after the opening bracket. The set and its closing bracket are removed from it. A set without a closing
// bracket ends with the pattern.
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

// Whether the first item of the pattern, which is not a star, matches c. Removes the item from the pattern.
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

// If something does not match, the last star takes one more character; earlier stars never have to. So matching takes
// at most the length of the pattern times the length of the text.
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
