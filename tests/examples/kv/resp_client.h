// A client of the Redis protocol for tests. It blocks, uses a plain socket, and has a timeout on every read. It returns
// replies in readable form:
//
//   +OK  -ERR no  :7  'bulk'  nil  ['a', :1]
#pragma once

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace thrum::test {

class resp_client {
 public:
  explicit resp_client(std::uint16_t port, int receive_bytes = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_bytes != 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int const on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connect(reinterpret_cast<sockaddr const*>(&to), sizeof to);
  }
  explicit resp_client(std::string const& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    path.copy(to.sun_path, sizeof to.sun_path - 1);
    connect(reinterpret_cast<sockaddr const*>(&to), sizeof to);
  }
  resp_client(resp_client&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_), unread_(std::move(other.unread_)) {}
  ~resp_client() { ::close(fd_); }
  resp_client& operator=(resp_client&&) = delete;

  [[nodiscard]] bool is_connected() const noexcept { return connected_; }

  // False: the server has closed the connection.
  bool send_raw(std::string_view bytes) const {
    while (!bytes.empty()) {
      ssize_t const n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  template <class Words = std::initializer_list<std::string_view>>
  [[nodiscard]] static std::string encoded(Words const& words) {
    std::string text = "*" + std::to_string(words.size()) + "\r\n";
    for (std::string_view const word : words) {
      text += "$" + std::to_string(word.size()) + "\r\n";
      text.append(word).append("\r\n");
    }
    return text;
  }

  template <class... Words>
  bool send(Words const&... words) const {
    return send_raw(encoded({std::string_view(words)...}));
  }
  template <class... Words>
  std::string ask(Words const&... words) {
    send(words...);
    return reply();
  }

  // One reply; "end": the connection is closed, "timeout": none came.
  std::string reply() {
    std::string const head = line();
    if (head.empty()) return why_;
    std::string const rest = head.substr(1);
    if (head[0] != '$' && head[0] != '*') return head;
    if (rest == "-1") return "nil";
    auto const count = std::stoul(rest);
    if (head[0] == '$') {
      if (!has(count + 2)) return why_;
      std::string const text = "'" + unread_.substr(0, count) + "'";
      unread_.erase(0, count + 2);
      return text;
    }
    std::string all = "[";
    for (std::size_t i = 0; i < count; ++i) all += (i == 0 ? "" : ", ") + reply();
    return all + "]";
  }

  void shut_down_write() const { ::shutdown(fd_, SHUT_WR); }
  void close() { ::close(std::exchange(fd_, -1)); }

 private:
  void connect(sockaddr const* to, socklen_t size) {
    timeval const limit{30, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    connected_ = ::connect(fd_, to, size) == 0;
  }

  std::string line() {
    for (std::size_t seen = 0;;) {
      auto const end = unread_.find("\r\n", seen == 0 ? 0 : seen - 1);
      if (end != std::string::npos) {
        std::string const found = unread_.substr(0, end);
        unread_.erase(0, end + 2);
        return found;
      }
      seen = unread_.size();
      if (!has(unread_.size() + 1)) return "";
    }
  }

  bool has(std::size_t bytes) {
    while (unread_.size() < bytes) {
      std::size_t const before = unread_.size();
      unread_.resize(before + 64 * 1024);
      ssize_t const n = ::recv(fd_, unread_.data() + before, 64 * 1024, 0);
      unread_.resize(before + static_cast<std::size_t>(n > 0 ? n : 0));
      if (n <= 0) {
        why_ = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? "timeout" : "end";
        return false;
      }
    }
    return true;
  }

  int fd_;
  bool connected_ = false;
  std::string unread_;
  std::string why_;
};

}  // namespace thrum::test
