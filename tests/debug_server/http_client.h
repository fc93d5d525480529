// An HTTP client for tests, which knows nothing of the runtime.
#pragma once

#include "os/clock.h"
#include "support/client.h"
#include "support/wait_until.h"
#include <thrum/debug.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace thrum::test {

struct http_response {
  int status = 0;  // 0: the connection was closed before there was an answer
  std::string head;
  std::string body;

  [[nodiscard]] bool has(std::string_view text) const { return body.find(text) != std::string::npos; }
};

class http_client : public client {
 public:
  explicit http_client(endpoint const& where)
      : client(where.family(), static_cast<sockaddr const*>(where.data()), where.size()), host_(where.to_string()) {}

  // "GET /metrics", with the fields that a client has to send; `fields` are more of them, each with its line's end.
  void send_request(std::string_view method_and_path, std::string_view fields = {}) const {
    std::string text(method_and_path);
    text.append(" HTTP/1.1\r\nHost: ").append(host_).append("\r\n").append(fields).append("\r\n");
    send(text);
  }

  // The next answer, which has a length.
  http_response answer() {
    http_response got;
    std::size_t const end = receive_until("\r\n\r\n");
    if (end == std::string::npos) return got;
    got.head = take(end + 4);
    got.status = std::atoi(got.head.c_str() + std::string_view("HTTP/1.1 ").size());
    std::size_t const at = got.head.find("Content-Length: ");
    got.body = take(at == std::string::npos ? 0 : std::strtoul(got.head.c_str() + at + 16, nullptr, 10));
    return got;
  }
  http_response ask(std::string_view method_and_path, std::string_view fields = {}) {
    send_request(method_and_path, fields);
    return answer();
  }
  // The text up to a blank line: an event of a stream. Empty: the stream has ended.
  std::string event() {
    std::size_t const end = receive_until("\n\n");
    if (end == std::string::npos) return {};
    std::string text = take(end + 2);
    text.resize(end);
    return text;
  }
  // All that comes until the other side closes the connection.
  std::string rest() {
    while (receive_more()) {
    }
    return take_all_received();
  }

 private:
  std::string host_;
};

inline http_response ask_once(endpoint const& where, std::string_view method_and_path, std::string_view fields = {}) {
  return http_client(where).ask(method_and_path, fields);
}

}  // namespace thrum::test
