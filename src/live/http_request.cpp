#include "live/http_request.h"

#include <algorithm>

namespace thrum::live {
namespace {

constexpr std::string_view end_of_line = "\r\n";
constexpr std::string_view end_of_head = "\r\n\r\n";

constexpr bool is_letter_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// RFC 9110, 5.6.2
constexpr bool is_token_character(char c) noexcept {
  return is_letter_or_digit(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

constexpr bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

constexpr bool is_visible(char c) noexcept { return c > ' ' && c < '\x7f'; }

// Bytes above 0x7f are allowed, and no field that matters may have one.
constexpr bool is_in_a_field(char c) noexcept {
  auto const code = static_cast<unsigned char>(c);
  return c == '\t' || (code >= ' ' && code != 0x7f);
}

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr std::string_view without_blanks(std::string_view text) noexcept {
  auto const is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

struct fault {
  int status = 0;  // 0: there is none
  char const* why = nullptr;
  explicit operator bool() const noexcept { return status != 0; }
};

http_head bad(fault found) noexcept {
  return {.is = http_head::outcome::bad, .bytes = 0, .status = found.status, .why = found.why, .request = {}};
}

http_method method_named(std::string_view name) noexcept {
  if (name == "GET") return http_method::get;
  if (name == "HEAD") return http_method::head;
  return name == "POST" ? http_method::post : http_method::other;
}

// METHOD TARGET HTTP/1.1
fault read_request_line(std::string_view line, http_request& to) noexcept {
  std::size_t const first = line.find(' ');
  std::size_t const last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return {400, "the request line is malformed"};
  std::string_view const target = line.substr(first + 1, last - first - 1);
  std::string_view const version = line.substr(last + 1);
  if (!is_token(line.substr(0, first))) return {400, "the method is malformed"};
  if (!target.starts_with('/') || !std::all_of(target.begin(), target.end(), is_visible))
    return {400, "the target must be a path"};
  if (!version.starts_with("HTTP/")) return {400, "the request line is malformed"};
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return {505, "the server speaks HTTP/1.1 and HTTP/1.0"};
  to.method = method_named(line.substr(0, first));
  to.stays_open = version == "HTTP/1.1";
  std::size_t const mark = target.find('?');
  to.path = target.substr(0, mark);
  if (mark != std::string_view::npos) to.query = target.substr(mark + 1);
  return {};
}

// Whether the list "a, b" has the word.
bool lists(std::string_view list, std::string_view word) noexcept {
  while (!list.empty()) {
    std::size_t const comma = std::min(list.find(','), list.size());
    if (equal_without_case(without_blanks(list.substr(0, comma)), word)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// Which fields of the head have been there.
struct seen_fields {
  bool host = false;
  bool origin = false;
  bool authorization = false;
  bool length = false;
};

fault note_once(bool& is_there, std::string_view value, std::string_view& to) noexcept {
  if (is_there) return {400, "a field that may be there once is there twice"};
  is_there = true;
  to = value;
  return {};
}

fault note_length(bool& is_there, std::string_view value) noexcept {
  std::string_view digits;
  if (fault const twice = note_once(is_there, value, digits)) return twice;
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return {400, "Content-Length is malformed"};
  if (digits.find_first_not_of('0') != std::string_view::npos) return {413, "a request has no body here"};
  return {};
}

fault read_field(std::string_view line, seen_fields& seen, http_request& to) noexcept {
  std::size_t const colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return {400, "a field is malformed"};
  std::string_view const name = line.substr(0, colon);
  std::string_view const value = without_blanks(line.substr(colon + 1));
  if (!std::all_of(value.begin(), value.end(), is_in_a_field)) return {400, "a field is malformed"};
  if (equal_without_case(name, "Host")) return note_once(seen.host, value, to.host);
  if (equal_without_case(name, "Origin")) return note_once(seen.origin, value, to.origin);
  if (equal_without_case(name, "Authorization")) return note_once(seen.authorization, value, to.authorization);
  if (equal_without_case(name, "Sec-Fetch-Site")) to.fetch_site = value;
  if (equal_without_case(name, "Content-Length")) return note_length(seen.length, value);
  if (equal_without_case(name, "Transfer-Encoding")) return {501, "a request has no body here"};
  if (equal_without_case(name, "Connection") && lists(value, "close")) to.stays_open = false;
  return {};
}

constexpr fault too_large{431, "the head of the request is too large"};

// Whether these bytes cannot begin a head, whatever follows.
bool cannot_be_a_head(std::string_view received) noexcept {
  auto const is_misplaced = [](char c) { return !is_in_a_field(c) && c != '\r' && c != '\n'; };
  return (!received.empty() && !is_token_character(received.front())) ||
         std::any_of(received.begin(), received.end(), is_misplaced);
}

}  // namespace

bool equal_without_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

http_head read_head(std::string_view received) noexcept {
  std::size_t const end = received.substr(0, head_bytes_max).find(end_of_head);
  if (end == std::string_view::npos) {
    if (received.size() >= head_bytes_max) return bad(too_large);
    return cannot_be_a_head(received) ? bad({400, "this is not HTTP"}) : http_head{};
  }
  http_head found{.is = http_head::outcome::complete, .bytes = end + end_of_head.size(), .request = {}};
  std::string_view lines = received.substr(0, end + end_of_line.size());
  seen_fields seen;
  for (std::size_t count = 0; !lines.empty(); ++count) {
    std::size_t const length = lines.find(end_of_line);
    std::string_view const line = lines.substr(0, length);
    lines.remove_prefix(length + end_of_line.size());
    if (count > head_fields_max) return bad(too_large);
    bool const is_first = count == 0;
    fault const what = is_first ? read_request_line(line, found.request) : read_field(line, seen, found.request);
    if (what) return bad(what);
  }
  if (found.request.host.empty()) return bad({400, "the field Host is missing"});
  return found;
}

namespace {

// -1: it is no digit.
constexpr int hexadecimal_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (lower(c) >= 'a' && lower(c) <= 'f') return lower(c) - 'a' + 10;
  return -1;
}

// Empty if the text cannot be decoded.
std::string decoded(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    char c = text.front();
    std::size_t used = 1;
    if (c == '%') {
      int const high = text.size() > 2 ? hexadecimal_digit(text[1]) : -1;
      int const low = text.size() > 2 ? hexadecimal_digit(text[2]) : -1;
      if (high < 0 || low < 0) return {};
      c = static_cast<char>(high * 16 + low);
      used = 3;
    } else if (c == '+') {
      c = ' ';
    }
    result += c;
    text.remove_prefix(used);
  }
  return result;
}

}  // namespace

std::optional<std::string> parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    std::size_t const end = std::min(query.find('&'), query.size());
    std::string_view const pair = query.substr(0, end);
    std::size_t const equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) == name) return decoded(pair.substr(std::min(equals + 1, pair.size())));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return std::nullopt;
}

}  // namespace thrum::live
