// Reads JSON strictly, as RFC 8259 has it. Members are found by a path: "ps.1.running_ns".
#pragma once

#include <cctype>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace thrum::test {

class json_reader {
 public:
  // Throws std::runtime_error if the text is no JSON.
  explicit json_reader(std::string_view text) : text_(text) {
    value("");
    skip_spaces();
    if (at_ != text_.size()) fail("text behind the value");
  }

  // Of a number, a string, true, false or null, as it stands there.
  [[nodiscard]] std::string at(std::string const& path) const {
    auto const found = values_.find(path);
    return found == values_.end() ? "nothing at " + path : found->second;
  }

 private:
  [[noreturn]] void fail(char const* why) const {
    throw std::runtime_error("no JSON: " + std::string(why) + " at " + std::to_string(at_));
  }
  void skip_spaces() {
    while (at_ < text_.size() && std::string_view(" \n\r\t").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void take(char expected) {
    if (next() != expected) fail("another character was expected");
    ++at_;
  }
  static std::string under(std::string const& path, std::string const& name) {
    return path.empty() ? name : path + "." + name;
  }

  void value(std::string const& path) {
    skip_spaces();
    switch (next()) {
      case '{': return members(path);
      case '[': return elements(path);
      case '"': values_[path] = string(); return;
      default: values_[path] = word(); return;
    }
  }

  void members(std::string const& path) {
    take('{');
    skip_spaces();
    if (next() == '}') return take('}');
    for (;;) {
      skip_spaces();
      std::string const name = under(path, string());
      skip_spaces();
      take(':');
      value(name);
      skip_spaces();
      if (next() == '}') return take('}');
      take(',');
    }
  }

  void elements(std::string const& path) {
    take('[');
    skip_spaces();
    if (next() == ']') return take(']');
    for (std::size_t i = 0;; ++i) {
      value(under(path, std::to_string(i)));
      skip_spaces();
      if (next() == ']') return take(']');
      take(',');
    }
  }

  std::string string() {
    take('"');
    std::string result;
    while (next() != '"') {
      if (at_ == text_.size() || static_cast<unsigned char>(next()) < 0x20) fail("a string does not end");
      if (next() == '\\') {
        ++at_;
        if (std::string_view("\"\\/bfnrtu").find(next()) == std::string_view::npos) fail("an unknown escape");
      }
      result += text_[at_++];
    }
    take('"');
    return result;
  }

  std::string word() {
    std::size_t const begin = at_;
    while (std::isalnum(static_cast<unsigned char>(next())) != 0 || next() == '-' || next() == '+' || next() == '.')
      ++at_;
    std::string const word(text_.substr(begin, at_ - begin));
    bool const is_name = word == "true" || word == "false" || word == "null";
    std::size_t used = 0;
    if (!is_name) {
      if (word.empty() || (std::isdigit(static_cast<unsigned char>(word[0])) == 0 && word[0] != '-')) fail("no value");
      static_cast<void>(std::stod(word, &used));
      if (used != word.size()) fail("no number");
    }
    return word;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::map<std::string, std::string> values_;
};

}  // namespace thrum::test
