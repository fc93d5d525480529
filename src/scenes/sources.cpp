#include "scenes/sources.h"

#include "scenes/embedded.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace thrum::scenes {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::size_t const end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::size_t indentation_of(std::string_view line) {
  std::size_t const first = line.find_first_not_of(' ');
  return first == std::string_view::npos ? line.size() : first;
}

bool is_part_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Whether a definition or a declaration of the function may begin in this line. A call stands deeper than a member
// function (two spaces), or in an expression.
bool may_begin(std::string_view line, std::string_view function) {
  std::size_t const indentation = indentation_of(line);
  if (indentation > 2 || line.substr(indentation).starts_with("//")) return false;
  std::size_t const at = line.find(std::string(function) + "(");
  if (at == std::string_view::npos || at == indentation || is_part_of_name(line[at - 1])) return false;
  for (std::string_view const word : {"return ", "if ", "while ", "= "}) {
    if (line.substr(0, at).find(word) != std::string_view::npos) return false;
  }
  return true;
}

// The line in which the definition ends that begins at `first`. `first` itself if it is a declaration.
std::size_t end_of(std::vector<std::string_view> const& lines, std::size_t first) {
  std::size_t at = first;
  while (at < lines.size() && lines[at].find_first_of("{;") == std::string_view::npos) ++at;
  if (at == lines.size() || lines[at].find('{') == std::string_view::npos) return first;
  if (lines[at].ends_with('}')) return at + 1;
  std::string const closing = std::string(indentation_of(lines[first]), ' ') + "}";
  while (at < lines.size() && !lines[at].starts_with(closing)) ++at;
  return at == lines.size() ? first : at + 1;
}

}  // namespace

source_lines function_in(std::string_view file, std::string_view function) {
  std::string const what = std::string(function) + " in " + std::string(file);
  std::string_view text;
  for (embedded_file const& each : embedded_files()) {
    if (each.name == file) text = each.text();
  }
  if (text.empty()) throw std::logic_error("no embedded source: " + what);
  auto const lines = lines_of(text);
  for (std::size_t first = 0; first < lines.size(); ++first) {
    if (!may_begin(lines[first], function)) continue;
    std::size_t const end = end_of(lines, first);
    if (end == first) continue;
    source_lines found{std::string(file), std::string(function), static_cast<int>(first) + 1, {}};
    for (std::size_t i = first; i < end; ++i) found.lines.emplace_back(lines[i]);
    return found;
  }
  throw std::logic_error("no definition of " + what);
}

}  // namespace thrum::scenes
