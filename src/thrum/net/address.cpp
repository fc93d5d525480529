#include "net/address.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace thrum::rt {
namespace {

bool parse_v4(char const* host, std::uint16_t port, endpoint& to) noexcept {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::inet_pton(AF_INET, host, &address.sin_addr) != 1) return false;
  store_address(to, address);
  return true;
}

bool parse_v6(char* host, std::uint16_t port, endpoint& to) noexcept {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  if (char* const zone = std::strchr(host, '%')) {
    *zone = '\0';
    address.sin6_scope_id = ::if_nametoindex(zone + 1);
    if (address.sin6_scope_id == 0) {
      std::from_chars(zone + 1, zone + 1 + std::strlen(zone + 1), address.sin6_scope_id);
    }
    if (address.sin6_scope_id == 0) return false;
  }
  if (::inet_pton(AF_INET6, host, &address.sin6_addr) != 1) return false;
  store_address(to, address);
  return true;
}

}  // namespace

host_and_port split_address(std::string_view address) noexcept {
  std::size_t const colon = address.rfind(':');
  if (colon == std::string_view::npos) return {};
  std::string_view host = address.substr(0, colon);
  std::string_view const port = address.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return {};
  }
  std::uint16_t number = 0;
  auto const end = std::from_chars(port.data(), port.data() + port.size(), number);
  if (end.ec != std::errc() || end.ptr != port.data() + port.size() || port.empty()) return {};
  return {host, number, true};
}

bool parse_host(std::string_view host, std::uint16_t port, endpoint& to) noexcept {
  char text[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
  if (host.size() >= sizeof text || has_nul(host)) return false;
  *std::copy(host.begin(), host.end(), text) = '\0';
  return parse_v4(text, port, to) || parse_v6(text, port, to);
}

void add_address(std::vector<endpoint>& to, void const* address, std::uint32_t bytes, std::uint16_t port) {
  sa_family_t const family = static_cast<sockaddr const*>(address)->sa_family;
  if (family != AF_INET && family != AF_INET6) return;
  endpoint& last = to.emplace_back();
  std::memcpy(last.data(), address, bytes);
  last.resize(bytes);
  last.set_port(port);
}

}  // namespace thrum::rt
