// UDP: datagrams.
//
//   auto mine = thrum::udp_socket::bind("127.0.0.1:0");
//   mine.send_to("hello", thrum::endpoint::parse("127.0.0.1:9000"));
//   std::array<char, 1500> bytes;
//   thrum::endpoint from;
//   std::size_t n = mine.recv_from(bytes, from);
//
// On a socket that is connected to one peer, read_some and write_some of fd.h receive and send datagrams without naming
// the peer. Deadlines, closing and errors work as in fd.h. send_many and recv_many move up to 64 datagrams with one
// system call, for programs with a high rate of datagrams.
#pragma once

#include <thrum/socket.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>

namespace thrum {

struct datagram_in {
  mutable_buffer buffer{};    // where the bytes go
  std::size_t size = 0;       // how many bytes came
  endpoint from{};            // the sender
  bool is_truncated = false;  // the datagram was larger than the buffer, and the rest is lost
};

struct datagram_out {
  const_buffer data;
  endpoint const* to = nullptr;  // nullptr: the connected peer
};

// Base of all sockets that keep message boundaries.
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

  // Sends all of them. Returns how many were sent, fewer only with an error.
  std::size_t send_many(std::span<datagram_out const> all) {
    return detail::or_throw(detail::call_on{*this, "send_many"}, [&](std::error_code& e) { return send_many(all, e); });
  }
  std::size_t send_many(std::span<datagram_out const> all, std::error_code& error);
  // Waits for one datagram, and takes further ones that are available.
  std::size_t recv_many(std::span<datagram_in> to) {
    return detail::or_throw(detail::call_on{*this, "recv_many"}, [&](std::error_code& e) { return recv_many(to, e); });
  }
  std::size_t recv_many(std::span<datagram_in> to, std::error_code& error);
};

class udp_socket : public datagram_socket {
 public:
  using datagram_socket::datagram_socket;
  static constexpr std::chrono::nanoseconds no_timeout = std::chrono::nanoseconds::max();

  // The address is "host:port". An empty host means all addresses, and port 0 means any free port.
  static udp_socket bind(std::string_view address) {
    return detail::or_throw(detail::call_to{"bind udp", address}, [&](std::error_code& e) { return bind(address, e); });
  }
  static udp_socket bind(std::string_view address, std::error_code& error);
  // Connects from any free port to one peer, and receives datagrams only from it. Only looking up the name takes time;
  // see resolve in endpoint.h for what the timeout means.
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
