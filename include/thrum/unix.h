// Unix sockets: streams, packets and datagrams between processes of one machine.
//
//   auto listener = thrum::unix_listener::listen("/run/service.sock");   // fails if the path exists
//   auto conn = thrum::unix_conn::dial("/run/service.sock", 5s);
//   auto [a, b] = thrum::unix_conn::pair();
//
// The listener removes its file when it is closed. A path that begins with @ is a name in Linux's abstract namespace,
// without a file. With seqpacket each write sends one message and each read takes one. Reading, writing, deadlines,
// closing and errors work as in fd.h. While the listener's backlog is full, dial waits until its timeout is over
// (timed_out). If there is room it does not wait, whatever the timeout.
#pragma once

#include <thrum/socket.h>
#include <thrum/udp.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace thrum {

enum class unix_type : std::uint8_t { stream, seqpacket };

class unix_conn : public basic_socket {
 public:
  using basic_socket::basic_socket;
  static constexpr std::chrono::nanoseconds no_timeout = std::chrono::nanoseconds::max();

  static unix_conn dial(std::string_view path, unix_type type = unix_type::stream,
                        std::chrono::nanoseconds timeout = no_timeout) {
    return detail::or_throw(detail::call_to{"dial unix", path},
                            [&](std::error_code& e) { return dial(path, type, timeout, e); });
  }
  static unix_conn dial(std::string_view path, unix_type type, std::chrono::nanoseconds timeout,
                        std::error_code& error);
  static unix_conn dial(std::string_view path, unix_type type, std::error_code& error) {
    return dial(path, type, no_timeout, error);
  }
  // Connects a stream socket.
  static unix_conn dial(std::string_view path, std::chrono::nanoseconds timeout) {
    return dial(path, unix_type::stream, timeout);
  }
  static unix_conn dial(std::string_view path, std::chrono::nanoseconds timeout, std::error_code& error) {
    return dial(path, unix_type::stream, timeout, error);
  }
  static std::pair<unix_conn, unix_conn> pair(unix_type type = unix_type::stream) {
    return detail::or_throw("pair", [&](std::error_code& e) { return pair(type, e); });
  }
  static std::pair<unix_conn, unix_conn> pair(unix_type type, std::error_code& error);

 private:
  friend class unix_listener;
};

class unix_listener : private basic_socket {
 public:
  unix_listener() noexcept = default;
  unix_listener(unix_listener&& other) noexcept;
  unix_listener& operator=(unix_listener&& other) noexcept;
  ~unix_listener();

  static unix_listener listen(std::string_view path, unix_type type = unix_type::stream) {
    return detail::or_throw(detail::call_to{"listen unix", path},
                            [&](std::error_code& e) { return listen(path, type, e); });
  }
  static unix_listener listen(std::string_view path, unix_type type, std::error_code& error);

  [[nodiscard]] unix_conn accept() {
    return detail::or_throw(detail::call_on{*this, "accept"}, [&](std::error_code& e) { return accept(e); });
  }
  [[nodiscard]] unix_conn accept(std::error_code& error);

  using basic_socket::close;
  using basic_socket::is_open;
  using basic_socket::local_endpoint;
  using basic_socket::native_handle;
  using basic_socket::operator bool;
  using basic_socket::set_deadline;
  using basic_socket::set_read_deadline;

 private:
  unix_type type_ = unix_type::stream;
  std::string path_;  // removed when the listener is closed
};

class unix_datagram : public datagram_socket {
 public:
  using datagram_socket::datagram_socket;

  // The file stays when the socket is closed, as is usual for Unix sockets.
  static unix_datagram bind(std::string_view path) {
    return detail::or_throw(detail::call_to{"bind unix", path}, [&](std::error_code& e) { return bind(path, e); });
  }
  static unix_datagram bind(std::string_view path, std::error_code& error);
  static unix_datagram connect(std::string_view path) {
    return detail::or_throw(detail::call_to{"connect unix", path},
                            [&](std::error_code& e) { return connect(path, e); });
  }
  static unix_datagram connect(std::string_view path, std::error_code& error);
};

}  // namespace thrum
