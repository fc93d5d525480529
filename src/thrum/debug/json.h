// Writes JSON step by step, without blanks. The caller opens and closes objects and arrays in pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace thrum::rt {

// Appends the text as a JSON string. Control characters are escaped. What is not UTF-8 becomes U+FFFD, so the result is
// valid whatever the bytes are.
void append_json_string(std::string_view text, std::string& out);

class json_writer {
 public:
  explicit json_writer(std::string& out) noexcept : out_(out) {}

  json_writer& begin_object() { return open('{'); }
  json_writer& end_object() { return close('}'); }
  json_writer& begin_array() { return open('['); }
  json_writer& end_array() { return close(']'); }
  // The name of the member that follows.
  json_writer& name(std::string_view name);

  json_writer& value(std::string_view text);
  json_writer& value(char const* text) { return value(std::string_view(text)); }
  json_writer& value(bool value) { return raw(value ? "true" : "false"); }
  json_writer& value(std::int64_t number) { return raw(std::to_string(number)); }
  json_writer& value(std::uint64_t number) { return raw(std::to_string(number)); }
  // JSON that is complete in itself, or several values with commas between them. Empty: nothing.
  json_writer& raw(std::string_view json);

  template <class T>
  json_writer& member(std::string_view its_name, T const& its_value) {
    return name(its_name).value(its_value);
  }

  // Ends the line, which JSON allows between any two values.
  json_writer& end_line() {
    out_ += '\n';
    return *this;
  }

 private:
  json_writer& open(char bracket);
  json_writer& close(char bracket);
  void separate();

  std::string& out_;
  bool needs_comma_ = false;
};

}  // namespace thrum::rt
