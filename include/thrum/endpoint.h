// endpoint: a network address with its port, or the address of a Unix socket.
//
//   auto where = thrum::endpoint::parse("127.0.0.1:8080");   // "[::1]:8080", "[fe80::1%eth0]:22"; numbers, not names
//   auto there = thrum::endpoint::unix_path("/run/service.sock");   // "@name": in Linux's abstract namespace, no file
//
// It is a plain value of 120 bytes.
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
  [[nodiscard]] std::uint16_t port() const noexcept;  // 0 if it has none
  void set_port(std::uint16_t port) noexcept;
  [[nodiscard]] std::string host() const;       // the numeric address without the port
  [[nodiscard]] std::string to_string() const;  // the form that parse or unix_path takes
  bool operator==(endpoint const& other) const noexcept;

  // The sockaddr of the system.
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

// Returns the addresses of a host, IPv6 and IPv4, in the order in which they should be tried. A numeric address is
// returned as it is. Errors have the resolver's own category; timed_out means that the time was over.
//  - c-ares does the lookup if it is installed (when thrum is built, and when the program runs) and /etc/nsswitch.conf
//    names only files and DNS. The goroutine then waits as for any socket.
//  - Otherwise, or with THRUM_DEBUG=netdns=c, the C library does the lookup on a thread of the runtime, so other
//    goroutines go on too. At most 500 such lookups run at the same time, and further callers wait for their turn. A
//    lookup of the C library cannot be interrupted, so its answer is dropped if it comes after the timeout.
std::vector<endpoint> resolve(std::string_view host, std::uint16_t port = 0);
std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::error_code& error);
std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::chrono::nanoseconds timeout);
std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::chrono::nanoseconds timeout,
                              std::error_code& error);

// The errors of getaddrinfo, such as EAI_NONAME.
[[nodiscard]] std::error_category const& resolve_category() noexcept;

}  // namespace thrum
