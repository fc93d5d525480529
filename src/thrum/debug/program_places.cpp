#include "debug/program_places.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace thrum::rt {

std::string_view without_return_type(std::string_view name) noexcept {
  constexpr std::string_view unnamed = "(anonymous namespace)";
  constexpr std::string_view deduced = "decltype(auto) ";
  if (name.starts_with(deduced)) name.remove_prefix(deduced.size());
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    std::string_view const rest = name.substr(at);
    if (rest.starts_with(unnamed)) {
      at += unnamed.size() - 1;
      continue;
    }
    char const c = rest.front();
    bool const is_over = c == '(' || rest.starts_with("operator") || rest.starts_with(" [clone");
    if (depth == 0 && is_over) break;  // the arguments, or the rest of the name
    if (depth == 0 && c == ' ') begin = at + 1;
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == '}' || c == ']') --depth;
  }
  return name.substr(begin);
}

bool is_plumbing(code_place const& place) noexcept {
  std::string_view const function = without_return_type(place.function);
  auto const begins = [&](std::string_view with) { return function.starts_with(with); };
  auto const lies_in = [&](std::string_view part) { return place.file.find(part) != std::string::npos; };
  return begins("thrum::rt::") || begins("thrum::detail::") || begins("thrum_goroutine_entry") || begins("std::") ||
         lies_in("/include/c++/") || lies_in("thrum/detail/") || lies_in("thrum/run.h") || lies_in("thrum/go.h") ||
         lies_in("src/thrum/arch/") || lies_in("src/thrum/sched/") || lies_in("src/thrum/sync/wait.h");
}

code_place const& place_of_user(std::vector<code_place> const& places) noexcept {
  auto const is_users = [](code_place const& p) {
    return p.file.find("/include/thrum/") == std::string::npos && p.file.find("/include/c++/") == std::string::npos;
  };
  auto const found = std::find_if(places.begin(), places.end(), is_users);
  return found != places.end() ? *found : places.back();
}

std::string source_of(code_place const& place) {
  return place.line != 0 ? place.file + ":" + std::to_string(place.line) : place.file;
}

std::string name_of_site(code_place const& place) {
  if (place.line == 0) return place.function;
  std::string const source = source_of(place);
  return place.function + " (" + source.substr(source.rfind('/') + 1) + ")";
}

}  // namespace thrum::rt
