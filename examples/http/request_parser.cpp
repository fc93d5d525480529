#include "request_parser.h"

#include "settings.h"

#include <algorithm>
#include <cstring>

namespace http {

namespace {

constexpr std::string_view end_of_lines = "\r\n\r\n";
constexpr std::size_t first_bytes = 4096;  // enough for most heads, and for a dozen small pipelined requests

bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

bool starts_with_digit(std::string_view text) noexcept {
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

std::string_view without_blanks_at_its_end(std::string_view text) noexcept {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

method method_of(llhttp_t const& parser) noexcept {
  switch (parser.method) {
    case HTTP_GET: return method::get;
    case HTTP_HEAD: return method::head;
    case HTTP_POST: return method::post;
    case HTTP_PUT:
    case HTTP_DELETE:
    case HTTP_OPTIONS:
    case HTTP_PATCH:
    case HTTP_TRACE: return method::other;
    default: return method::unknown;
  }
}

}  // namespace

request_parser::request_parser() : bytes_(first_bytes) {
  llhttp_init(&llhttp_, HTTP_REQUEST, &callbacks());
  llhttp_.data = this;
}

llhttp_settings_t const& request_parser::callbacks() {
  static llhttp_settings_t const made = [] {
    llhttp_settings_t s;
    llhttp_settings_init(&s);
    s.on_url = [](llhttp_t* p, char const* at, std::size_t size) { return self(p).add_to_target(at, size); };
    s.on_header_field = [](llhttp_t* p, char const* at, std::size_t size) { return self(p).add_to_name(at, size); };
    s.on_header_value = [](llhttp_t* p, char const* at, std::size_t size) { return self(p).add_to_value(at, size); };
    s.on_header_value_complete = [](llhttp_t* p) {
      self(p).expects_ = expects::name;
      return 0;
    };
    s.on_headers_complete = [](llhttp_t* p) { return self(p).headers_complete(); };
    s.on_body = [](llhttp_t* p, char const* at, std::size_t size) { return self(p).add_to_body(at, size); };
    s.on_message_complete = [](llhttp_t* p) -> int {
      self(p).is_complete_ = true;
      return HPE_PAUSED;  // the bytes after it belong to the next request
    };
    return s;
  }();
  return made;
}

parsed request_parser::advance() {
  if (is_complete_) begin_next();
  if (parsed_ == end_) return parsed::nothing_more;
  bool const head_was_complete = head_is_complete_;
  llhttp_errno_t const error = llhttp_execute(&llhttp_, bytes_.data() + parsed_, end_ - parsed_);
  if (error != HPE_OK && error != HPE_PAUSED) {
    refusal_ = status_of(error);
    return parsed::garbage;
  }
  parsed_ = error == HPE_OK ? end_ : static_cast<std::size_t>(llhttp_get_error_pos(&llhttp_) - bytes_.data());
  if (!head_is_complete_ ? end_ - begin_ >= head_bytes_max : !head_was_complete && parsed_ - begin_ > head_bytes_max) {
    refusal_ = 431;
    return parsed::garbage;
  }
  if (error == HPE_OK) return parsed::nothing_more;
  llhttp_resume(&llhttp_);
  bool const is_after_lines = !head_was_complete || is_chunked_;  // after the lines of the head or of the trailers
  std::string_view const seen(bytes_.data() + begin_, parsed_ - begin_);
  if (is_after_lines && !seen.ends_with(end_of_lines)) {  // llhttp accepts a single LF here
    refusal_ = 400;
    return parsed::garbage;
  }
  if (!head_was_complete) {
    head_end_ = parsed_;
    if (!is_complete_) make_room_for_body();
    make_views();
  }
  return is_complete_ ? parsed::request : parsed::head;
}

thrum::mutable_buffer request_parser::space() {
  if (is_complete_) begin_next();
  if (head_is_complete_) {
    // The received part of the body is in its string, except for bytes that may be the beginning of the end of its
    // trailers.
    std::size_t const kept = std::min(end_ - head_end_, end_of_lines.size() - 1);
    std::memmove(bytes_.data() + head_end_, bytes_.data() + end_ - kept, kept);
    parsed_ = end_ = head_end_ + kept;
  } else if (begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    parsed_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == bytes_.size()) bytes_.resize(std::min(bytes_.size() * 2, head_bytes_max));
  return {bytes_.data() + end_, bytes_.size() - end_};
}

void request_parser::begin_next() noexcept {
  begin_ = parsed_;
  target_ = {};
  parts_.clear();
  headers_.clear();
  expects_ = expects::name;
  head_is_complete_ = false;
  is_complete_ = false;
  request_.body.clear();
}

// ---- callbacks of llhttp

// A part comes in pieces if the network has cut it; these pieces are contiguous. Other pieces belong to a folded line.
bool request_parser::extend(part& what, char const* at, std::size_t size) const noexcept {
  auto const offset = static_cast<std::uint32_t>(at - (bytes_.data() + begin_));
  if (what.size == 0) what.offset = offset;
  if (what.offset + what.size != offset) return false;
  what.size += static_cast<std::uint32_t>(size);
  return true;
}

int request_parser::refuse(int status) noexcept {
  refusal_ = status;
  return HPE_USER;
}

int request_parser::add_to_target(char const* at, std::size_t size) {
  return extend(target_, at, size) ? 0 : refuse(400);
}

int request_parser::add_to_name(char const* at, std::size_t size) {
  if (head_is_complete_) return 0;  // trailers are ignored
  if (expects_ != expects::more_of_name) {
    if (parts_.size() == headers_max) return refuse(431);
    parts_.emplace_back();
    expects_ = expects::more_of_name;
  }
  return extend(parts_.back().name, at, size) ? 0 : refuse(400);
}

int request_parser::add_to_value(char const* at, std::size_t size) {
  if (head_is_complete_) return 0;
  if (expects_ == expects::name || parts_.back().name.size == 0) return refuse(400);  // a line that begins with a colon
  expects_ = expects::value;
  return extend(parts_.back().value, at, size) ? 0 : refuse(400);
}

int request_parser::add_to_body(char const* at, std::size_t size) {
  if (request_.body.size() + size > body_bytes_max) return refuse(413);
  request_.body.append(at, size);
  return 0;
}

// Copies llhttp's flags, because llhttp clears them at the end of the message.
int request_parser::headers_complete() {
  head_is_complete_ = true;
  request_.method = method_of(llhttp_);
  request_.major_version = llhttp_.http_major;
  request_.minor_version = llhttp_.http_minor;
  request_.keep_alive = llhttp_should_keep_alive(&llhttp_) != 0;
  is_chunked_ = (llhttp_.flags & F_CHUNKED) != 0;
  bool const has_length = (llhttp_.flags & F_CONTENT_LENGTH) != 0;
  request_.has_body = is_chunked_ || has_length;
  request_.content_length = has_length ? llhttp_.content_length : 0;
  llhttp_.upgrade = 0;  // the client offers an upgrade, and the server ignores it
  return is_chunked_ || request_.content_length > 0 ? HPE_PAUSED : 0;
}

int request_parser::status_of(llhttp_errno_t error) const noexcept {
  std::string_view line(bytes_.data() + begin_, end_ - begin_);
  line = line.substr(0, line.find('\r'));
  switch (error) {
    case HPE_USER: return refusal_;
    case HPE_PAUSED_H2_UPGRADE: return 505;
    case HPE_INVALID_VERSION: return starts_with_digit(line.substr(line.rfind('/') + 1)) ? 505 : 400;
    case HPE_INVALID_METHOD: return is_token(line.substr(0, line.find(' '))) ? 501 : 400;
    default: return 400;
  }
}

// ---- called when the head is complete

void request_parser::make_room_for_body() {
  if (bytes_.size() - end_ < first_bytes / 2) bytes_.resize(end_ + first_bytes);
  if (request_.content_length <= body_bytes_max) request_.body.reserve(request_.content_length);
}

void request_parser::make_views() {
  for (header_parts const& each : parts_) {
    headers_.push_back({view(each.name), without_blanks_at_its_end(view(each.value))});
  }
  request_.headers = headers_;
  request_.target = view(target_);
  split_target();
}

// The target is "/path?query", or "http://host/path?query" as proxies send it.
void request_parser::split_target() noexcept {
  std::string_view rest = request_.target;
  if (constexpr std::string_view scheme = "http://"; same_name(rest.substr(0, scheme.size()), scheme)) {
    rest.remove_prefix(std::min(rest.find('/', scheme.size()), rest.size()));
    if (rest.empty()) rest = "/";
  }
  rest = rest.substr(0, rest.find('#'));
  std::size_t const mark = std::min(rest.find('?'), rest.size());
  request_.path = rest.substr(0, mark);
  request_.query = rest.substr(std::min(mark + 1, rest.size()));
}

}  // namespace http
