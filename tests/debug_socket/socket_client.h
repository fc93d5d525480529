// A client of the debug socket for tests, which knows nothing of the runtime, and the folder for the socket.
#pragma once

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

namespace thrum::test {

// A folder of the test's own, with a short name, because the path of a socket has a limit.
class socket_folder {
 public:
  socket_folder() {
    std::string name = "/tmp/thrum_socket_XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~socket_folder() { std::filesystem::remove_all(path_); }
  socket_folder(socket_folder const&) = delete;
  socket_folder& operator=(socket_folder const&) = delete;

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] std::string socket() const { return path_ + "/s"; }

 private:
  std::string path_;
};

class socket_client {
 public:
  explicit socket_client(std::string const& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    timeval const limit{60, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    error_ = ::connect(fd_, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0 ? 0 : errno;
  }
  socket_client(socket_client&& from) noexcept
      : fd_(std::exchange(from.fd_, -1)), error_(from.error_), received_(std::move(from.received_)) {}
  socket_client(socket_client const&) = delete;
  socket_client& operator=(socket_client const&) = delete;
  ~socket_client() { close(); }

  [[nodiscard]] int error() const { return error_; }  // 0: it is connected
  [[nodiscard]] int fd() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void send(std::string_view text) const {
    static_cast<void>(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL));  // it may have been closed meanwhile
  }
  // The descriptor comes with the first byte.
  void send_with(std::string text, int descriptor) const {
    iovec part{text.data(), text.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptor)> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    EXPECT_EQ(::sendmsg(fd_, &message, MSG_NOSIGNAL), static_cast<long>(text.size()));
  }
  void send_no_more() const { ::shutdown(fd_, SHUT_WR); }

  // The next answer: the first line, and its text behind it. Empty: the connection was closed.
  std::string answer() {
    std::size_t end = received_.find('\n');
    for (; end == std::string::npos; end = received_.find('\n')) {
      if (!receive_more()) return "";
    }
    std::size_t whole = end + 1;
    if (received_.starts_with("ok ")) whole += std::strtoul(received_.c_str() + 3, nullptr, 10);
    while (received_.size() < whole) {
      if (!receive_more()) return "";
    }
    std::string text = received_.substr(0, whole);
    received_.erase(0, whole);
    return text;
  }
  std::string ask(std::string_view request) {
    send(std::string(request) + '\n');
    return answer();
  }
  // Whether the other side has closed the connection, after all that it has sent.
  bool is_closed() {
    while (receive_more()) {
    }
    return is_at_end_;
  }

 private:
  bool receive_more() {
    std::array<char, 4096> bytes{};
    long const count = ::recv(fd_, bytes.data(), bytes.size(), 0);
    if (count > 0) received_.append(bytes.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno == ECONNRESET)) is_at_end_ = true;
    return count > 0;
  }

  int fd_;
  int error_ = 0;
  bool is_at_end_ = false;
  std::string received_;
};

inline std::string ask_once(std::string const& path, std::string_view request) {
  return socket_client(path).ask(request);
}

}  // namespace thrum::test
