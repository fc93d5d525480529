// What the tests of example_http share: a client that sends and receives plain bytes, and a server. A call that waits
// for more than half a minute fails the test.
#pragma once

#include "support/child.h"
#include "support/server_process.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace thrum::test {

struct http_answer {
  int status = 0;  // 0: the connection ended before
  std::string head;
  std::string body;

  // The text behind "Name: "; none: there is no such line.
  [[nodiscard]] std::optional<std::string> header(std::string_view name) const {
    std::size_t const at = head.find("\r\n" + std::string(name) + ": ");
    if (at == std::string::npos) return std::nullopt;
    std::size_t const begin = at + 2 + name.size() + 2;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class http_client {
 public:
  explicit http_client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval const limit{30, 0};
    int const on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr const*>(&to), sizeof to) == 0;
  }
  http_client(http_client&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), connected_(other.connected_), came_(std::move(other.came_)) {}
  http_client& operator=(http_client&&) = delete;
  ~http_client() {
    if (socket_ >= 0) ::close(socket_);
  }

  [[nodiscard]] bool is_connected() const noexcept { return connected_; }

  // False: the other side is gone.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      ssize_t const sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void send_bytewise(std::string_view bytes) const {
    for (char const& byte : bytes) EXPECT_TRUE(send({&byte, 1}));
  }

  enum class body : bool { follows, left_out };
  http_answer receive(body kind = body::follows) {
    http_answer answer;
    std::size_t end = 0;
    while ((end = came_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive_more()) return answer;
    }
    answer.head = came_.substr(0, end + 2);
    came_.erase(0, end + 4);
    auto const length = answer.header("Content-Length");
    std::size_t bytes = 0;
    if (length) std::from_chars(length->data(), length->data() + length->size(), bytes);
    if (kind == body::left_out) bytes = 0;
    while (came_.size() < bytes) {
      if (!receive_more()) return answer;
    }
    answer.body = came_.substr(0, bytes);
    came_.erase(0, bytes);
    std::from_chars(answer.head.data() + 9, answer.head.data() + 12, answer.status);
    return answer;
  }
  http_answer ask(std::string_view bytes, body kind = body::follows) {
    EXPECT_TRUE(send(bytes));
    return receive(kind);
  }

  // No byte more, and the end: not a reset, which could take an answer along.
  [[nodiscard]] bool is_at_end() {
    if (!came_.empty()) return false;
    char byte = 0;
    return ::recv(socket_, &byte, 1, 0) == 0;
  }
  [[nodiscard]] bool has_something() const {
    char byte = 0;
    return ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
  }

 private:
  bool receive_more() {
    char bytes[4096];
    ssize_t const n = ::recv(socket_, bytes, sizeof bytes, 0);
    if (n <= 0) return false;
    came_.append(bytes, static_cast<std::size_t>(n));
    return true;
  }

  int socket_;
  bool connected_ = false;
  std::string came_;
};

inline std::filesystem::path example_http() { return this_program().parent_path() / "example_http"; }

class http_server : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(example_http())) GTEST_SKIP() << example_http() << " was not built";
  }

  // With options of its own, or as it is by default. Once per test.
  server_process& start(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"--port", "0"});
    server_.emplace(example_http(), std::move(options));
    EXPECT_NE(server_->port(), 0) << server_->said();
    return *server_;
  }
  http_client connect() {
    if (!server_) start();
    http_client made(server_->port());
    EXPECT_TRUE(made.is_connected());
    return made;
  }

  // A request as all tests send it. The value of the Host field does not matter.
  static std::string get(std::string_view path, std::string_view further = "") {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n" + std::string(further) + "\r\n";
  }
  static std::string post(std::string_view path, std::string_view body, std::string_view further = "") {
    return "POST " + std::string(path) + " HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n" + std::string(further) + "\r\n" + std::string(body);
  }

 private:
  std::optional<server_process> server_;
};

}  // namespace thrum::test
