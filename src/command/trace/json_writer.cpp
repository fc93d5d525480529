#include "command/trace/json_writer.h"

#include "command/trace/text.h"

#include <cmath>

namespace thrum::command {

// Each value stands in a line of its own, unless the text is to be compact.
void json_writer::separate() {
  if (follows_name_) {
    follows_name_ = false;
    return;
  }
  if (needs_comma_) text_ += ',';
  if (depth_ != 0) begin_line();
}

void json_writer::begin_line() {
  if (is_compact_) return;
  text_ += '\n';
  text_.append(depth_ * 2, ' ');
}

json_writer& json_writer::open(char bracket) {
  separate();
  text_ += bracket;
  ++depth_;
  needs_comma_ = false;
  return *this;
}

json_writer& json_writer::close(char bracket) {
  --depth_;
  if (needs_comma_) begin_line();
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}

void json_writer::add_string(std::string_view string) {
  text_ += '"';
  for (char const c : string) {
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text_ += text("\\u%04x", static_cast<unsigned>(c));
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

json_writer& json_writer::name(std::string_view name) {
  separate();
  add_string(name);
  text_ += is_compact_ ? ":" : ": ";
  follows_name_ = true;
  return *this;
}

json_writer& json_writer::value(std::string_view string) {
  separate();
  add_string(string);
  needs_comma_ = true;
  return *this;
}

json_writer& json_writer::value(bool value) {
  separate();
  text_ += value ? "true" : "false";
  needs_comma_ = true;
  return *this;
}

json_writer& json_writer::null() {
  separate();
  text_ += "null";
  needs_comma_ = true;
  return *this;
}

json_writer& json_writer::value(std::uint64_t number) {
  separate();
  text_ += std::to_string(number);
  needs_comma_ = true;
  return *this;
}

json_writer& json_writer::value(std::int64_t number) {
  separate();
  text_ += std::to_string(number);
  needs_comma_ = true;
  return *this;
}

json_writer& json_writer::value(double number) {
  separate();
  text_ += text("%.0f", number);
  needs_comma_ = true;
  return *this;
}

}  // namespace thrum::command
