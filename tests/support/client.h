// What test clients of the program's own servers share. They know nothing of the runtime.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace thrum::test {

// A connection, and what has been received on it and not been taken yet.
class client {
 public:
  client(client&& from) noexcept
      : fd_(std::exchange(from.fd_, -1)), error_(from.error_), received_(std::move(from.received_)) {}
  client(client const&) = delete;
  client& operator=(client const&) = delete;

  [[nodiscard]] int error() const { return error_; }  // 0: it is connected
  [[nodiscard]] int fd() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void send(std::string_view text) const {
    static_cast<void>(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL));  // it may have been closed meanwhile
  }
  // Whether the other side has closed the connection, after all that it has sent.
  bool is_closed() {
    while (receive_more()) {
    }
    return is_at_end_;
  }

 protected:
  client(int family, sockaddr const* address, socklen_t bytes) : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    timeval const limit{60, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    error_ = ::connect(fd_, address, bytes) == 0 ? 0 : errno;
  }
  ~client() { close(); }

  bool receive_more() {
    std::array<char, 65536> bytes{};
    long const count = ::recv(fd_, bytes.data(), bytes.size(), 0);
    if (count > 0) received_.append(bytes.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno == ECONNRESET)) is_at_end_ = true;
    return count > 0;
  }
  // Where the text stands in what has been received. npos: it does not come.
  std::size_t receive_until(std::string_view text) {
    std::size_t at = received_.find(text);
    for (; at == std::string::npos; at = received_.find(text)) {
      if (!receive_more()) break;
    }
    return at;
  }
  // The next bytes; fewer if no more come.
  std::string take(std::size_t bytes) {
    while (received_.size() < bytes) {
      if (!receive_more()) break;
    }
    std::string taken = received_.substr(0, bytes);
    received_.erase(0, bytes);
    return taken;
  }
  std::string take_all_received() { return std::exchange(received_, {}); }
  [[nodiscard]] std::string const& received() const { return received_; }

 private:
  int fd_;
  int error_ = 0;
  bool is_at_end_ = false;
  std::string received_;
};

}  // namespace thrum::test
