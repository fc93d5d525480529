// The client ends of many connections, in a process of their own. If one process had both ends of each connection, its
// limit of descriptors would allow too few connections on most machines.
//
//   many_clients clients(10'000);       // outside the run: it forks
//   clients.connect(listener.local_endpoint());
//   clients.ask();                      // each client sends one byte and receives one
//   clients.close();
#pragma once

#include <thrum/blocking.h>
#include <thrum/endpoint.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum::test {

class many_clients {
 public:
  explicit many_clients(std::size_t count) : sockets_(count) {
    int ends[2]{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::close(ends[0]);
      ::_exit(obey(ends[1]) ? 0 : 1);
    }
    ::close(ends[1]);
    orders_ = ends[0];
  }
  ~many_clients() {
    ::close(orders_);
    int status = -1;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    EXPECT_EQ(status, 0);
  }
  many_clients(many_clients const&) = delete;
  many_clients& operator=(many_clients const&) = delete;

  // Each returns when all clients have done it.
  void connect(endpoint const& server) const { order({.what = action::connect, .server = server}); }
  void ask() const { order({.what = action::ask, .server = {}}); }
  void close() const { order({.what = action::close, .server = {}}); }

 private:
  enum class action : std::uint8_t { connect, ask, close };
  struct message {
    action what;
    endpoint server;
  };

  void order(message const& one) const {
    EXPECT_EQ(::write(orders_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
    char done = 0;
    EXPECT_EQ(blocking([&] { return ::read(orders_, &done, 1); }), 1) << "the clients have failed";
  }

  // Runs in the child process. It uses nothing that another thread of the parent may have locked during fork. Returns
  // true if all orders succeeded.
  bool obey(int orders) noexcept {
    message one{};
    while (::read(orders, &one, sizeof one) == static_cast<ssize_t>(sizeof one)) {
      for (int& socket : sockets_) {
        if (!do_one(socket, one)) return false;
      }
      if (::write(orders, ".", 1) != 1) return false;
    }
    return true;
  }
  static bool do_one(int& socket, message const& one) noexcept {
    char byte = 'q';
    switch (one.what) {
      case action::connect:
        socket = ::socket(one.server.family(), SOCK_STREAM, 0);
        return ::connect(socket, static_cast<sockaddr const*>(one.server.data()), one.server.size()) == 0;
      case action::ask: return ::write(socket, &byte, 1) == 1 && ::read(socket, &byte, 1) == 1;
      case action::close: return ::close(socket) == 0;
    }
    return false;
  }

  std::vector<int> sockets_;  // used by the child only
  pid_t child_ = -1;
  int orders_ = -1;
};

}  // namespace thrum::test
