// UDP: datagrams.
//
//   auto mine = thrum::udp_socket::bind("127.0.0.1:0");
//   mine.send_to("hello", thrum::endpoint::parse("127.0.0.1:9000"));
//   std::array<char, 1500> bytes;
//   thrum::endpoint from;
//   std::size_t n = mine.recv_from(bytes, from);
//
// Connected to one peer, read_some and write_some of fd.h do the same without naming it. Deadlines, closing and errors: fd.h.
// send_many and recv_many move several datagrams with one system call (up to 64), for those who count them.
#pragma once

#include <thrum/socket.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>

namespace thrum {

struct datagram_in {
  mutable_buffer buffer{};    // where to
  std::size_t size = 0;       // how much came
  endpoint from{};            // from whom
  bool is_truncated = false;  // the rest is lost
};

struct datagram_out {
  const_buffer data;
  endpoint const* to = nullptr;  // nullptr: the connected peer
};

// For all sockets whose messages keep their borders.
class datagram_socket : public basic_socket {
 public:
  using basic_socket::basic_socket;

  std::size_t send_to(const_buffer data, endpoint const& to) {
    return detail::or_throw(detail::call_on{*this, "send_to"},
                            [&](std::error_code& e) { return send_to(data, to, e); });
  }
  std::size_t send_to(const_buffer data, endpoint const& to, std::error_code& error);
  std::size_t recv_from(mutable_buffer to, endpoint& from) {
    return detail::or_throw(detail::call_on{*this, "recv_from"},
                            [&](std::error_code& e) { return recv_from(to, from, e); });
  }
  std::size_t recv_from(mutable_buffer to, endpoint& from, std::error_code& error);

  // All of them; how many were sent, fewer only with an error.
  std::size_t send_many(std::span<datagram_out const> all) {
    return detail::or_throw(detail::call_on{*this, "send_many"}, [&](std::error_code& e) { return send_many(all, e); });
  }
  std::size_t send_many(std::span<datagram_out const> all, std::error_code& error);
  // Waits for one, and takes what else is there.
  std::size_t recv_many(std::span<datagram_in> to) {
    return detail::or_throw(detail::call_on{*this, "recv_many"}, [&](std::error_code& e) { return recv_many(to, e); });
  }
  std::size_t recv_many(std::span<datagram_in> to, std::error_code& error);
};

class udp_socket : public datagram_socket {
 public:
  using datagram_socket::datagram_socket;
  static constexpr std::chrono::nanoseconds no_timeout = std::chrono::nanoseconds::max();

  // "host:port"; an empty host is every address, port 0 one that is free.
  static udp_socket bind(std::string_view address) {
    return detail::or_throw(detail::call_to{"bind udp", address}, [&](std::error_code& e) { return bind(address, e); });
  }
  static udp_socket bind(std::string_view address, std::error_code& error);
  // From any free port to this one peer, whose datagrams alone are received. Only looking up its name takes time; what a limit
  // means there: resolve in endpoint.h.
  static udp_socket connect(std::string_view address, std::chrono::nanoseconds timeout = no_timeout) {
    return detail::or_throw(detail::call_to{"connect udp", address},
                            [&](std::error_code& e) { return connect(address, timeout, e); });
  }
  static udp_socket connect(std::string_view address, std::chrono::nanoseconds timeout, std::error_code& error);
  static udp_socket connect(std::string_view address, std::error_code& error) {
    return connect(address, no_timeout, error);
  }
};

}  // namespace thrum
