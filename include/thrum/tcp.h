// TCP: a goroutine per connection, in blocking style.
//
//   auto listener = thrum::tcp_listener::listen("127.0.0.1:8080");   // ":8080": every address; port 0: one that is free
//   for (;;) {
//     thrum::go([conn = listener.accept()]() mutable {
//       std::array<char, 4096> bytes;
//       while (auto n = conn.read_some(bytes)) conn.write_all({bytes.data(), n});
//     });
//   }
//
//   auto conn = thrum::tcp_conn::dial("example.org:80", 5s);
//
// Reading, writing, deadlines, closing and errors: fd.h. TCP_NODELAY is on, as in Go. accept waits while the process or the
// machine has no descriptor left (and says so once on standard error), since whoever serves connections can only go on.
// dial tries all addresses of the host; with IPv6 and IPv4 ones the other family starts 300 ms later, or when the first has
// failed, and the first connection wins (RFC 8305, as Go does it).
#pragma once

#include <thrum/socket.h>

#include <chrono>
#include <string_view>
#include <system_error>

namespace thrum {

struct listen_options {
  bool reuse_addr = true;
  bool reuse_port = false;  // several listeners share a port, and the kernel deals the connections out
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
  // After so long without a byte the other side is asked whether it is there, 15 s from the start, as in Go; 0: not at all.
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

  // The one for accept is the read deadline.
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
