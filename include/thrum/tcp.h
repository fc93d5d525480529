// TCP: one goroutine per connection, in blocking style.
//
//   auto listener = thrum::tcp_listener::listen("127.0.0.1:8080");   // ":8080": all addresses; port 0: any free port
//   for (;;) {
//     thrum::go([conn = listener.accept()]() mutable {
//       std::array<char, 4096> bytes;
//       while (auto n = conn.read_some(bytes)) conn.write_all({bytes.data(), n});
//     });
//   }
//
//   auto conn = thrum::tcp_conn::dial("example.org:80", 5s);
//
// Reading, writing, deadlines, closing and errors work as in fd.h. TCP_NODELAY is on, as in Go.
//
// If the process or the machine has no free descriptor, accept waits until there is one and prints one message on
// standard error, because a server could do nothing else anyway.
//
// dial tries all addresses of the host. If there are IPv6 and IPv4 addresses, it starts with one family and adds the
// other after 300 ms, or when the first has failed. The first connection wins (RFC 8305, as in Go).
#pragma once

#include <thrum/socket.h>

#include <chrono>
#include <string_view>
#include <system_error>

namespace thrum {

struct listen_options {
  bool reuse_addr = true;
  bool reuse_port = false;  // several listeners share a port, and the kernel distributes the connections
  int backlog = 4096;       // the system may allow less
};

class tcp_listener;

class tcp_conn : public basic_socket {
 public:
  using basic_socket::basic_socket;
  static constexpr std::chrono::nanoseconds no_timeout = std::chrono::nanoseconds::max();

  static tcp_conn dial(std::string_view address, std::chrono::nanoseconds timeout = no_timeout) {
    return detail::or_throw(detail::call_to{"dial tcp", address},
                            [&](std::error_code& e) { return dial(address, timeout, e); });
  }
  static tcp_conn dial(std::string_view address, std::chrono::nanoseconds timeout, std::error_code& error);
  static tcp_conn dial(std::string_view address, std::error_code& error) { return dial(address, no_timeout, error); }
  static tcp_conn dial(endpoint const& to, std::chrono::nanoseconds timeout = no_timeout) {
    return detail::or_throw(detail::call_to_endpoint{"dial tcp", to},
                            [&](std::error_code& e) { return dial(to, timeout, e); });
  }
  static tcp_conn dial(endpoint const& to, std::chrono::nanoseconds timeout, std::error_code& error);

  void set_no_delay(bool on) {
    detail::or_throw(detail::call_on{*this, "set_no_delay"}, [&](std::error_code& e) { set_no_delay(on, e); });
  }
  void set_no_delay(bool on, std::error_code& error) noexcept;
  // The peer is probed when no byte has come for this long. The default is 15 s, as in Go; 0 turns probing off.
  void set_keep_alive(std::chrono::seconds idle) {
    detail::or_throw(detail::call_on{*this, "set_keep_alive"}, [&](std::error_code& e) { set_keep_alive(idle, e); });
  }
  void set_keep_alive(std::chrono::seconds idle, std::error_code& error) noexcept;

 private:
  friend tcp_listener;
};

class tcp_listener : private basic_socket {
 public:
  tcp_listener() noexcept = default;

  static tcp_listener listen(std::string_view address, listen_options chosen = {}) {
    return detail::or_throw(detail::call_to{"listen tcp", address},
                            [&](std::error_code& e) { return listen(address, chosen, e); });
  }
  static tcp_listener listen(std::string_view address, listen_options chosen, std::error_code& error);

  [[nodiscard]] tcp_conn accept() {
    return detail::or_throw(detail::call_on{*this, "accept"}, [&](std::error_code& e) { return accept(e); });
  }
  [[nodiscard]] tcp_conn accept(std::error_code& error);

  // The deadline of accept is the read deadline.
  using basic_socket::close;
  using basic_socket::is_open;
  using basic_socket::local_endpoint;
  using basic_socket::native_handle;
  using basic_socket::operator bool;
  using basic_socket::set_deadline;
  using basic_socket::set_read_deadline;

 private:
  using basic_socket::basic_socket;
};

}  // namespace thrum
