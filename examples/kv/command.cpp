#include "command.h"

#include "client.h"
#include "numbers.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_map>

namespace kv {
namespace {

constexpr std::size_t name_bytes_max = 16;

char capital(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

using command_table = std::unordered_map<std::string_view, command const*>;

command_table make_table() {
  command_table all;
  for (auto const theme :
       {connection_commands(), key_commands(), string_commands(), list_commands(), pubsub_commands()}) {
    for (command const& each : theme) all.emplace(each.name, &each);
  }
  return all;
}

command const* find_command(std::string_view name) {
  static command_table const all = make_table();
  std::array<char, name_bytes_max> capitals;
  if (name.size() > capitals.size()) return nullptr;
  std::transform(name.begin(), name.end(), capitals.begin(), capital);
  auto const found = all.find(std::string_view(capitals.data(), name.size()));
  return found == all.end() ? nullptr : found->second;
}

[[noreturn]] void refuse_unknown(arguments args) {
  constexpr std::size_t shown_max = 128;
  std::string shown;
  for (std::string_view const arg : args.subspan(1)) {
    if (shown.size() >= shown_max) break;
    shown += "'" + std::string(arg.substr(0, shown_max - shown.size())) + "' ";
  }
  throw command_error("ERR unknown command '" + std::string(args[0].substr(0, shown_max)) +
                      "', with args beginning with: " + shown);
}

bool fits(command const& which, std::size_t given) noexcept {
  return which.arity >= 0 ? given == static_cast<std::size_t>(which.arity)
                          : given >= static_cast<std::size_t>(-which.arity);
}

void find_and_run(call& c) {
  command const* const which = find_command(c.args[0]);
  if (which == nullptr) refuse_unknown(c.args);
  if (!fits(*which, c.args.size())) refuse_arity(c);
  if (c.from.is_subscriber() && !which->is_for_subscribers) {
    throw command_error("ERR Can't execute '" + lower_case(c.args[0]) +
                        "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context");
  }
  which->run(c);
}

}  // namespace

void refuse_syntax() { throw command_error("ERR syntax error"); }

void refuse_arity(call const& c) {
  throw command_error("ERR wrong number of arguments for '" + lower_case(c.args[0]) + "' command");
}

std::int64_t integer_of(std::string_view text) {
  if (auto const value = parse_integer(text)) return *value;
  throw command_error("ERR value is not an integer or out of range");
}

bool is_word(std::string_view word, std::string_view capitals) noexcept {
  return std::equal(word.begin(), word.end(), capitals.begin(), capitals.end(),
                    [](char a, char b) { return capital(a) == b; });
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

void execute(call& c) {
  std::size_t const before = c.reply.size();
  try {
    find_and_run(c);
  } catch (command_error const& refused) {
    c.reply.truncate(before);
    c.reply.error(refused.text());
  }
}

}  // namespace kv
