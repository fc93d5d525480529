#include "debug/json.h"

namespace thrum::rt {
namespace {

struct utf8_character {
  std::size_t bytes;  // at least 1
  bool is_valid;      // false: these bytes are the beginning of a character, or no part of any
};

// The second byte of a character has a narrower range than the others after some first bytes, so that no character has
// two encodings and there are no surrogates (Unicode, table 3-7).
struct second_range {
  unsigned char low;
  unsigned char high;
};

constexpr second_range range_after(unsigned char first) noexcept {
  switch (first) {
    case 0xe0: return {0xa0, 0xbf};
    case 0xed: return {0x80, 0x9f};
    case 0xf0: return {0x90, 0xbf};
    case 0xf4: return {0x80, 0x8f};
    default: return {0x80, 0xbf};
  }
}

constexpr std::size_t bytes_after(unsigned char first) noexcept {
  if (first >= 0xc2 && first <= 0xdf) return 1;
  if (first >= 0xe0 && first <= 0xef) return 2;
  if (first >= 0xf0 && first <= 0xf4) return 3;
  return 0;
}

// The character at the beginning of the text, which is not empty.
utf8_character first_character(std::string_view text) noexcept {
  auto const first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {1, true};
  std::size_t const more = bytes_after(first);
  second_range range = range_after(first);
  std::size_t bytes = 1;
  while (bytes <= more && bytes < text.size()) {
    auto const next = static_cast<unsigned char>(text[bytes]);
    if (next < range.low || next > range.high) break;
    range = {0x80, 0xbf};
    ++bytes;
  }
  return {bytes, more != 0 && bytes == more + 1};
}

void append_ascii(char c, std::string& out) {
  constexpr char digits[] = "0123456789abcdef";
  auto const code = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (code < 0x20) {
    out += "\\u00";
    out += digits[code >> 4U];
    out += digits[code & 0xfU];
  } else {
    out += c;
  }
}

}  // namespace

void append_json_string(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    utf8_character const next = first_character(text);
    if (!next.is_valid) {
      out += "\\ufffd";
    } else if (next.bytes == 1) {
      append_ascii(text.front(), out);
    } else {
      out += text.substr(0, next.bytes);
    }
    text.remove_prefix(next.bytes);
  }
  out += '"';
}

void json_writer::separate() {
  if (needs_comma_) out_ += ',';
}

json_writer& json_writer::open(char bracket) {
  separate();
  out_ += bracket;
  needs_comma_ = false;
  return *this;
}

json_writer& json_writer::close(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
  return *this;
}

json_writer& json_writer::name(std::string_view name) {
  separate();
  append_json_string(name, out_);
  out_ += ':';
  needs_comma_ = false;
  return *this;
}

json_writer& json_writer::value(std::string_view text) {
  separate();
  append_json_string(text, out_);
  needs_comma_ = true;
  return *this;
}

json_writer& json_writer::raw(std::string_view json) {
  if (json.empty()) return *this;
  separate();
  out_ += json;
  needs_comma_ = true;
  return *this;
}

}  // namespace thrum::rt
