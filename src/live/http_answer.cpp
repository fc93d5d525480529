#include "live/http_answer.h"

#include "debug/json.h"
#include "live/page.h"

namespace thrum::live {
namespace {

std::string_view phrase_of(int status) noexcept {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "";
  }
}

std::string_view name_of(media type) noexcept {
  switch (type) {
    case media::text: return "text/plain; charset=utf-8";
    case media::html: return "text/html; charset=utf-8";
    case media::json: return "application/json";
    case media::metrics: return "text/plain; version=0.0.4; charset=utf-8";
    case media::bytes: return "application/octet-stream";
  }
  return "";
}

}  // namespace

http_answer error_answer(int status, std::string_view why) {
  http_answer made = json_answer({});
  made.status = status;
  rt::json_writer(made.body).begin_object().member("error", why).end_object();
  made.body += '\n';
  return made;
}

http_answer json_answer(std::string body) {
  http_answer made;
  made.type = media::json;
  made.body = std::move(body);
  return made;
}

std::string head_of(http_answer const& answer, bool stays_open) {
  std::string head = "HTTP/1.1 " + std::to_string(answer.status) + ' ';
  head.append(phrase_of(answer.status)).append("\r\nContent-Type: ");
  head += answer.is_stream ? "text/event-stream" : name_of(answer.type);
  if (!answer.is_stream) head.append("\r\nContent-Length: ").append(std::to_string(answer.bytes()));
  if (!answer.download.empty())
    head.append("\r\nContent-Disposition: attachment; filename=\"").append(answer.download).append("\"");
  if (answer.status == 401) head += "\r\nWWW-Authenticate: Bearer";
  if (answer.status == 503) head += "\r\nRetry-After: 1";
  // A browser that opens an answer of the API as a page loads and runs nothing for it.
  head += "\r\nContent-Security-Policy: ";
  head += answer.type == media::html ? page_policy() : "default-src 'none'; frame-ancestors 'none'";
  // The token may be in the page's address, and the figures are no other site's business.
  head +=
      "\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff"
      "\r\nX-Frame-Options: DENY\r\nCross-Origin-Resource-Policy: same-origin\r\nConnection: ";
  return head.append(stays_open ? "keep-alive" : "close").append("\r\n\r\n");
}

}  // namespace thrum::live
