// Parsing of "host:port" texts and of paths, and the addresses that they stand for.
#pragma once

#include <thrum/endpoint.h>

#include <cstdint>
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

// Appends the address in the sockaddr at `address` if it is IPv4 or IPv6. Ignores other families.
void add_address(std::vector<endpoint>& to, void const* address, std::uint32_t bytes, std::uint16_t port);

// The addresses to listen on. An empty host means every address of this machine.
[[nodiscard]] std::vector<endpoint> resolve_to_listen(std::string_view address, std::error_code& error);
// The addresses to connect to. An empty host means "localhost". The lookup of a name ends by `until_ns`; with
// never_poll it has no time limit.
[[nodiscard]] std::vector<endpoint> resolve_to_dial(std::string_view address, std::int64_t until_ns,
                                                    std::error_code& error);

}  // namespace thrum::rt
