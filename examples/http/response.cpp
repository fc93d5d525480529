#include "response.h"

#include <array>
#include <charconv>
#include <cstdio>

#include <unistd.h>

namespace http {

namespace {

std::string_view reason_of(int status) noexcept {
  switch (status) {
    case 200: return "200 OK";
    case 206: return "206 Partial Content";
    case 400: return "400 Bad Request";
    case 403: return "403 Forbidden";
    case 404: return "404 Not Found";
    case 405: return "405 Method Not Allowed";
    case 408: return "408 Request Timeout";
    case 411: return "411 Length Required";
    case 413: return "413 Content Too Large";
    case 416: return "416 Range Not Satisfiable";
    case 417: return "417 Expectation Failed";
    case 431: return "431 Request Header Fields Too Large";
    case 500: return "500 Internal Server Error";
    case 501: return "501 Not Implemented";
    case 503: return "503 Service Unavailable";
    case 505: return "505 HTTP Version Not Supported";
    default: return "500 Internal Server Error";
  }
}

void append_number(std::string& out, std::size_t number) {
  std::array<char, 20> digits;
  auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

}  // namespace

descriptor::~descriptor() {
  if (number_ >= 0) ::close(number_);
}

response plain_status(int status) {
  response made;
  made.status = status;
  made.body = std::string(reason_of(status)) + '\n';
  return made;
}

std::string_view date_text::now() {
  std::time_t const second = std::time(nullptr);
  if (second != made_for_) {
    // strftime is not used, because its names depend on the program's locale.
    static constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::tm at{};
    ::gmtime_r(&second, &at);
    std::array<char, 64> text{};
    int const size = std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                   days.at(static_cast<std::size_t>(at.tm_wday)), at.tm_mday,
                                   months.at(static_cast<std::size_t>(at.tm_mon)), at.tm_year + 1900, at.tm_hour,
                                   at.tm_min, at.tm_sec);
    text_.assign(text.data(), static_cast<std::size_t>(size));
    made_for_ = second;
  }
  return text_;
}

void append(std::string& out, response const& what, answer_frame const& frame) {
  out += "HTTP/1.1 ";
  out += reason_of(what.status);
  out += "\r\nDate: ";
  out += frame.date;
  out += "\r\nContent-Type: ";
  out += what.content_type;
  out += "\r\nContent-Length: ";
  append_number(out, what.body_bytes());
  if (!frame.keep_alive) {
    out += "\r\nConnection: close";
  } else if (frame.minor_version == 0) {
    out += "\r\nConnection: keep-alive";
  }
  out += "\r\n";
  out += what.headers;
  out += "\r\n";
  if (!frame.without_body && !what.file.file) out += what.body;
}

}  // namespace http
