// endpoint: an address of the network, with its port, or of a Unix socket.
//
//   auto where = thrum::endpoint::parse("127.0.0.1:8080");   // "[::1]:8080", "[fe80::1%eth0]:22"; a number, no name
//   auto there = thrum::endpoint::unix_path("/run/service.sock");   // "@name": in Linux's own namespace, without a file
//
// A plain value of 120 bytes.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace thrum {

class endpoint {
 public:
  endpoint() noexcept = default;

  static endpoint parse(std::string_view address);
  static endpoint parse(std::string_view address, std::error_code& error) noexcept;
  static endpoint unix_path(std::string_view path);
  static endpoint unix_path(std::string_view path, std::error_code& error) noexcept;

  [[nodiscard]] bool is_v4() const noexcept;
  [[nodiscard]] bool is_v6() const noexcept;
  [[nodiscard]] bool is_unix() const noexcept;
  [[nodiscard]] bool is_loopback() const noexcept;
  [[nodiscard]] std::uint16_t port() const noexcept;  // 0: it has none
  void set_port(std::uint16_t port) noexcept;
  [[nodiscard]] std::string host() const;       // without the port, in numbers
  [[nodiscard]] std::string to_string() const;  // what parse or unix_path takes
  bool operator==(endpoint const& other) const noexcept;

  // The system's sockaddr.
  [[nodiscard]] void* data() noexcept { return storage_; }
  [[nodiscard]] void const* data() const noexcept { return storage_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] static constexpr std::uint32_t capacity() noexcept { return capacity_bytes; }
  void resize(std::uint32_t bytes) noexcept { size_ = bytes < capacity_bytes ? bytes : capacity_bytes; }
  [[nodiscard]] int family() const noexcept;

 private:
  static constexpr std::uint32_t capacity_bytes = 112;  // sockaddr_un has 110
  alignas(8) unsigned char storage_[capacity_bytes]{};
  std::uint32_t size_ = 0;
};

// The addresses of a host, IPv6 and IPv4 in the order in which they should be tried; numbers are taken as they are. Where c-ares is
// installed (when thrum is built, and when the program runs) and /etc/nsswitch.conf asks for files and DNS alone, c-ares asks,
// and the goroutine waits as for any socket. Else, or with THRUM_DEBUG=netdns=c, the C library looks them up on a thread of the runtime,
// so no other goroutine waits either. At most 500 of these run at a time, and further callers wait for their turn. Errors: the resolver's
// own category; timed_out when the time is over. The C library cannot be interrupted, so its late answer is dropped when it comes.
std::vector<endpoint> resolve(std::string_view host, std::uint16_t port = 0);
std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::error_code& error);
std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::chrono::nanoseconds timeout);
std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::chrono::nanoseconds timeout,
                              std::error_code& error);

// What getaddrinfo says: EAI_NONAME and its kin.
[[nodiscard]] std::error_category const& resolve_category() noexcept;

}  // namespace thrum
