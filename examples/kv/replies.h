// Replies in RESP2, collected until they are written together.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kv {

class replies {
 public:
  void status(std::string_view text) { line('+', text); }
  void ok() { text_ += "+OK\r\n"; }

  // "ERR …", always on one line, whatever the text contains.
  void error(std::string_view text) {
    std::size_t const start = text_.size();
    line('-', text);
    for (std::size_t i = start; i < text_.size() - 2; ++i) {
      if (text_[i] == '\r' || text_[i] == '\n') text_[i] = ' ';
    }
  }

  void integer(std::int64_t value) { number(':', value); }
  void bulk(std::string_view bytes) {
    number('$', static_cast<std::int64_t>(bytes.size()));
    text_.append(bytes);
    text_.append("\r\n", 2);
  }
  void null() { text_ += "$-1\r\n"; }
  void null_array() { text_ += "*-1\r\n"; }
  // Begins an array: this many replies follow.
  void array(std::size_t elements) { number('*', static_cast<std::int64_t>(elements)); }

  [[nodiscard]] std::string const& text() const noexcept { return text_; }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
  // Removes everything after the first `bytes` bytes.
  void truncate(std::size_t bytes) { text_.resize(bytes); }
  void clear() {
    text_.clear();
    if (text_.capacity() > capacity_kept) text_.shrink_to_fit();
  }

 private:
  static constexpr std::size_t capacity_kept = 128 * 1024;

  void line(char kind, std::string_view text) {
    text_ += kind;
    text_.append(text);
    text_.append("\r\n", 2);
  }
  void number(char kind, std::int64_t value) {
    std::array<char, 24> digits;
    digits[0] = kind;
    char* end = std::to_chars(digits.data() + 1, digits.data() + digits.size() - 2, value).ptr;
    *end++ = '\r';
    *end++ = '\n';
    text_.append(digits.data(), end);
  }

  std::string text_;
};

}  // namespace kv
