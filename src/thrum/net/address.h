// Parsing of "host:port" texts and of paths.
#pragma once

#include <thrum/endpoint.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <system_error>
#include <vector>

namespace thrum::rt {

// The system reads a name or a path only up to its first NUL, so it would use another name than the caller meant.
// Callers of this function refuse such texts with EINVAL.
[[nodiscard]] constexpr bool has_nul(std::string_view text) noexcept {
  return text.find('\0') != std::string_view::npos;
}

// True for a name in Linux's abstract namespace of unix sockets. No file belongs to it, and its other bytes may have
// any value.
[[nodiscard]] constexpr bool is_abstract_path(std::string_view path) noexcept {
  return path.starts_with('@') || path.starts_with('\0');
}

struct host_and_port {
  std::string_view host;
  std::uint16_t port = 0;
  bool is_valid = false;
};
[[nodiscard]] host_and_port split_address(std::string_view address) noexcept;

// Parses a numeric address. Returns false if `host` is not one, for example because it is a name.
[[nodiscard]] bool parse_host(std::string_view host, std::uint16_t port, endpoint& to) noexcept;

// `address` is a sockaddr_in or a sockaddr_in6.
template <class T>
void store_address(endpoint& to, T const& address) noexcept {
  std::memcpy(to.data(), &address, sizeof address);
  to.resize(sizeof address);
}

// Appends the address in the sockaddr at `address` if it is IPv4 or IPv6. Ignores other families.
void add_address(std::vector<endpoint>& to, void const* address, std::uint32_t bytes, std::uint16_t port);

}  // namespace thrum::rt
