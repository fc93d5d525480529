// An HTTP client for tests, which knows nothing of the runtime.
#pragma once

#include "os/clock.h"
#include "support/wait_until.h"
#include <thrum/debug.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace thrum::test {

struct http_response {
  int status = 0;  // 0: the connection was closed before there was an answer
  std::string head;
  std::string body;

  [[nodiscard]] bool has(std::string_view text) const { return body.find(text) != std::string::npos; }
};

class http_client {
 public:
  explicit http_client(endpoint const& where)
      : fd_(::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)), host_(where.to_string()) {
    timeval const limit{60, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    auto const* const address = static_cast<sockaddr const*>(where.data());
    error_ = ::connect(fd_, address, where.size()) == 0 ? 0 : errno;
  }
  http_client(http_client&& from) noexcept
      : fd_(std::exchange(from.fd_, -1)),
        error_(from.error_),
        host_(from.host_),
        received_(std::move(from.received_)) {}
  http_client(http_client const&) = delete;
  http_client& operator=(http_client const&) = delete;
  ~http_client() { close(); }

  [[nodiscard]] int error() const { return error_; }  // 0: it is connected
  [[nodiscard]] int fd() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void send(std::string_view text) const {
    static_cast<void>(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL));  // it may have been closed meanwhile
  }
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
    got.head = received_.substr(0, end + 4);
    received_.erase(0, end + 4);
    got.status = std::atoi(got.head.c_str() + std::string_view("HTTP/1.1 ").size());
    std::size_t const at = got.head.find("Content-Length: ");
    std::size_t const length = at == std::string::npos ? 0 : std::strtoul(got.head.c_str() + at + 16, nullptr, 10);
    while (received_.size() < length) {
      if (!receive_more()) break;
    }
    got.body = received_.substr(0, length);
    received_.erase(0, length);
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
    std::string text = received_.substr(0, end);
    received_.erase(0, end + 2);
    return text;
  }
  // All that comes until the other side closes the connection.
  std::string rest() {
    while (receive_more()) {
    }
    return std::exchange(received_, {});
  }
  // Whether the other side has closed the connection, after all that it has sent.
  bool is_closed() {
    while (receive_more()) {
    }
    return is_at_end_;
  }

 private:
  std::size_t receive_until(std::string_view text) {
    std::size_t at = received_.find(text);
    for (; at == std::string::npos; at = received_.find(text)) {
      if (!receive_more()) break;
    }
    return at;
  }
  bool receive_more() {
    std::array<char, 65536> bytes{};
    long const count = ::recv(fd_, bytes.data(), bytes.size(), 0);
    if (count > 0) received_.append(bytes.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno == ECONNRESET)) is_at_end_ = true;
    return count > 0;
  }

  int fd_;
  int error_ = 0;
  std::string host_;
  bool is_at_end_ = false;
  std::string received_;
};

inline http_response ask_once(endpoint const& where, std::string_view method_and_path, std::string_view fields = {}) {
  return http_client(where).ask(method_and_path, fields);
}

}  // namespace thrum::test
