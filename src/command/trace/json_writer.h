// Writes JSON step by step. The caller opens and closes objects and arrays in pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace thrum::command {

class json_writer {
 public:
  enum class form : std::uint8_t { lines, compact };  // each value on a line of its own, or without any blanks

  json_writer() = default;
  explicit json_writer(form chosen) : is_compact_(chosen == form::compact) {}

  json_writer& begin_object() { return open('{'); }
  json_writer& end_object() { return close('}'); }
  json_writer& begin_array() { return open('['); }
  json_writer& end_array() { return close(']'); }
  // The name of the member that follows.
  json_writer& name(std::string_view name);

  json_writer& value(std::string_view text);  // valid UTF-8
  json_writer& value(char const* text) { return value(std::string_view(text)); }
  json_writer& value(bool value);
  json_writer& null();
  json_writer& value(std::uint64_t number);
  json_writer& value(std::int64_t number);
  json_writer& value(double number);  // rounded, because all are nanoseconds

  template <class T>
  json_writer& member(std::string_view its_name, T const& its_value) {
    return name(its_name).value(its_value);
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return text_.size(); }
  [[nodiscard]] std::string take() { return std::move(text_) + "\n"; }

 private:
  json_writer& open(char bracket);
  json_writer& close(char bracket);
  void begin_line();
  void separate();
  void add_string(std::string_view text);

  std::string text_;
  std::size_t depth_ = 0;
  bool is_compact_ = false;
  bool needs_comma_ = false;
  bool follows_name_ = false;
};

}  // namespace thrum::command
