// "host:port" in words, and who stands behind it.
#pragma once

#include <thrum/endpoint.h>

#include <cstdint>
#include <string_view>
#include <system_error>
#include <vector>

namespace thrum::rt {

// The system would read a name or a path up to its first NUL, and mean another one than the caller: such are refused (EINVAL).
[[nodiscard]] constexpr bool has_nul(std::string_view text) noexcept {
  return text.find('\0') != std::string_view::npos;
}

// A name without a file, in Linux's own namespace. Its bytes may be any.
[[nodiscard]] constexpr bool is_abstract_path(std::string_view path) noexcept {
  return path.starts_with('@') || path.starts_with('\0');
}

struct host_and_port {
  std::string_view host;
  std::uint16_t port = 0;
  bool is_valid = false;
};
[[nodiscard]] host_and_port split_address(std::string_view address) noexcept;

// A number, no name. False: it is none.
[[nodiscard]] bool parse_host(std::string_view host, std::uint16_t port, endpoint& to) noexcept;

// One more, from the system's sockaddr of an IPv4 or IPv6 address; others are passed over.
void add_address(std::vector<endpoint>& to, void const* address, std::uint32_t bytes, std::uint16_t port);

// What to listen on: an empty host is every address of this machine.
[[nodiscard]] std::vector<endpoint> resolve_to_listen(std::string_view address, std::error_code& error);
// By this moment, where names are queried (net/query.h); never_poll: as long as it takes.
[[nodiscard]] std::vector<endpoint> resolve_to_dial(std::string_view address, std::int64_t until_ns,
                                                    std::error_code& error);

}  // namespace thrum::rt
