// What commands share: a call with its arguments, errors, and the table that finds commands by name.
#pragma once

#include "replies.h"

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace kv {

class client;
class hub;
class server;
class store;

using arguments = std::span<std::string_view const>;

struct call {
  arguments args;  // the name of the command comes first
  replies& reply;
  store& db;
  client& from;
  server& on;
};

// Thrown by commands. It replaces everything that the command has written to the reply: "ERR …", "WRONGTYPE …".
class command_error : public std::exception {
 public:
  explicit command_error(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] char const* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] std::string const& text() const noexcept { return text_; }

 private:
  std::string text_;
};

[[noreturn]] void refuse_syntax();
[[noreturn]] void refuse_arity(call const& c);

// Convert an argument to a number, or throw command_error.
[[nodiscard]] std::int64_t integer_of(std::string_view text);

struct command {
  std::string_view name;  // in capitals
  int arity;              // number of arguments, including the name; -n: n or more
  void (*run)(call&);
  bool is_for_subscribers = false;  // allowed for clients that have subscribed to something
};

// All commands of one topic.
[[nodiscard]] std::span<command const> connection_commands();
[[nodiscard]] std::span<command const> key_commands();
[[nodiscard]] std::span<command const> string_commands();
[[nodiscard]] std::span<command const> list_commands();
[[nodiscard]] std::span<command const> pubsub_commands();

// Compares two words and ignores the case. `capitals` must be in capitals.
[[nodiscard]] bool is_word(std::string_view word, std::string_view capitals) noexcept;
[[nodiscard]] std::string lower_case(std::string_view text);

// Finds the command and runs it. Its reply, or an error reply, is then in `c.reply`.
void execute(call& c);

}  // namespace kv
