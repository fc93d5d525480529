// A client of the debug socket for tests, which knows nothing of the runtime, and the folder for the socket.
#pragma once

#include "support/client.h"
#include "support/send_descriptor.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

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

class socket_client : public client {
 public:
  explicit socket_client(std::string const& path) : socket_client(address_of(path)) {}

  // The descriptor comes with the first byte.
  void send_with(std::string text, int descriptor) const {
    EXPECT_EQ(send_with_descriptor(fd(), text, descriptor), static_cast<long>(text.size()));
  }
  void send_no_more() const { ::shutdown(fd(), SHUT_WR); }

  // The next answer: the first line, and its text behind it. Empty: the connection was closed.
  std::string answer() {
    std::size_t const end = receive_until("\n");
    if (end == std::string::npos) return "";
    std::size_t whole = end + 1;
    if (received().starts_with("ok ")) whole += std::strtoul(received().c_str() + 3, nullptr, 10);
    std::string text = take(whole);
    return text.size() == whole ? text : "";
  }
  std::string ask(std::string_view request) {
    send(std::string(request) + '\n');
    return answer();
  }

 private:
  explicit socket_client(sockaddr_un const& address)
      : client(AF_UNIX, reinterpret_cast<sockaddr const*>(&address), sizeof address) {}

  static sockaddr_un address_of(std::string const& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    return address;
  }
};

inline std::string ask_once(std::string const& path, std::string_view request) {
  return socket_client(path).ask(request);
}

}  // namespace thrum::test
