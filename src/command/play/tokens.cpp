#include "command/play/tokens.h"

#include "command/trace/text.h"

#include <algorithm>
#include <cstddef>

namespace thrum::command {
namespace {

constexpr std::size_t shown_bytes_max = 40;

bool is_of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || c == '+';
}

bool is_control(char c) { return (c >= '\0' && c < ' ') || c == '\x7f'; }

std::string name_of(char c) {
  if (c > ' ' && c < '\x7f') return text("\"%c\"", c);
  return text("the byte 0x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
}

class reader {
 public:
  explicit reader(std::string_view text) : text_(text) {}

  std::vector<token> take() {
    while (at_ < text_.size()) read();
    add(token_kind::end, 0);
    return std::move(found_);
  }

 private:
  void read() {
    char const c = text_[at_];
    if (c == '\n') {
      add(token_kind::separator, 1);
      ++line_;
      begin_of_line_ = at_;
    } else if (c == ' ' || c == '\t' || (c == '\r' && text_.substr(at_ + 1).starts_with('\n'))) {
      ++at_;
    } else if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') skip_in_comment();
    } else if (c == ';' || c == '{' || c == '}') {
      add(c == ';' ? token_kind::separator : c == '{' ? token_kind::open : token_kind::close, 1);
    } else if (is_of_word(c)) {
      std::string_view const rest = text_.substr(at_);
      auto const end = std::find_if_not(rest.begin(), rest.end(), is_of_word);
      add(token_kind::word, static_cast<std::size_t>(end - rest.begin()));
    } else {
      refuse(c);
    }
  }

  void skip_in_comment() {
    char const c = text_[at_];
    if (is_control(c) && c != '\t' && c != '\r') refuse(c);
    ++at_;
  }

  [[noreturn]] void refuse(char c) const {
    std::string message = "expected a statement, found ";
    message += name_of(c);
    message += is_control(c) ? "; a scenario is a text, so remove it" : "; write it behind a # if it is a comment";
    throw scenario_error(here(), message);
  }

  [[nodiscard]] position here() const { return {line_, static_cast<int>(at_ - begin_of_line_) + 1}; }

  void add(token_kind kind, std::size_t bytes) {
    found_.push_back({kind, text_.substr(at_, bytes), here()});
    at_ += bytes;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t begin_of_line_ = 0;
  int line_ = 1;
  std::vector<token> found_{};
};

}  // namespace

std::vector<token> tokens_of(std::string_view text) {
  if (text.size() > scenario_bytes_max) {
    throw scenario_error(
        {}, command::text("expected a scenario of at most %zu bytes, found more; make it shorter", scenario_bytes_max));
  }
  return reader(text).take();
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::size_t const end = text.find('\n');
    std::string line(text.substr(0, end));
    if (line.ends_with('\r')) line.pop_back();
    std::string shown;
    for (char const c : line) shown += c == '\t' ? "  " : std::string(1, c);
    lines.push_back(clean_text(shown));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string quoted(token const& one) {
  switch (one.kind) {
    case token_kind::end: return "the end of the file";
    case token_kind::separator: return one.text == ";" ? "\";\"" : "the end of the line";
    default: break;
  }
  std::string made = "\"";
  made += one.text.substr(0, shown_bytes_max);
  made += one.text.size() > shown_bytes_max ? "...\"" : "\"";
  return made;
}

}  // namespace thrum::command
