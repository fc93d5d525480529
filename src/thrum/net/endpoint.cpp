// thrum::endpoint (thrum/endpoint.h).
#include "net/address.h"
#include "net/io_call.h"
#include <thrum/endpoint.h>
#include <thrum/fd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

namespace thrum {
namespace {

using rt::system_error_of;

static_assert(endpoint::capacity() >= sizeof(sockaddr_un) && endpoint::capacity() >= sizeof(sockaddr_in6));

template <class T>
T as(endpoint const& e) noexcept {
  T copy{};
  std::memcpy(&copy, e.data(), sizeof copy);
  return copy;
}

constexpr std::size_t path_offset = offsetof(sockaddr_un, sun_path);

}  // namespace

endpoint endpoint::parse(std::string_view address, std::error_code& error) noexcept {
  error.clear();
  endpoint parsed;
  auto const parts = rt::split_address(address);
  if (!parts.is_valid || !rt::parse_host(parts.host, parts.port, parsed)) error = system_error_of(EINVAL);
  return parsed;
}

endpoint endpoint::parse(std::string_view address) {
  return detail::or_throw(detail::call_to{"endpoint::parse", address},
                          [&](std::error_code& e) { return parse(address, e); });
}

endpoint endpoint::unix_path(std::string_view path, std::error_code& error) noexcept {
  error.clear();
  sockaddr_un address{};
  endpoint made;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    error = system_error_of(path.empty() ? EINVAL : ENAMETOOLONG);
    return made;
  }
  bool const is_abstract = rt::is_abstract_path(path);
  if (!is_abstract && rt::has_nul(path)) {
    error = system_error_of(EINVAL);
    return made;
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (is_abstract) address.sun_path[0] = '\0';
  std::memcpy(made.data(), &address, sizeof address);
  made.resize(static_cast<std::uint32_t>(path_offset + path.size() + (is_abstract ? 0 : 1)));
  return made;
}

endpoint endpoint::unix_path(std::string_view path) {
  return detail::or_throw(detail::call_to{"endpoint::unix_path", path},
                          [&](std::error_code& e) { return unix_path(path, e); });
}

int endpoint::family() const noexcept {
  return size_ >= sizeof(sa_family_t) ? as<sockaddr>(*this).sa_family : AF_UNSPEC;
}
bool endpoint::is_v4() const noexcept { return family() == AF_INET; }
bool endpoint::is_v6() const noexcept { return family() == AF_INET6; }
bool endpoint::is_unix() const noexcept { return family() == AF_UNIX; }

bool endpoint::is_loopback() const noexcept {
  if (is_v4()) return ntohl(as<sockaddr_in>(*this).sin_addr.s_addr) >> 24U == 127;
  if (!is_v6()) return is_unix();
  auto const address = as<sockaddr_in6>(*this).sin6_addr;
  return std::memcmp(&address, &in6addr_loopback, sizeof address) == 0;
}

std::uint16_t endpoint::port() const noexcept {
  if (is_v4()) return ntohs(as<sockaddr_in>(*this).sin_port);
  return is_v6() ? ntohs(as<sockaddr_in6>(*this).sin6_port) : 0;
}

void endpoint::set_port(std::uint16_t port) noexcept {
  if (is_v4()) {
    auto address = as<sockaddr_in>(*this);
    address.sin_port = htons(port);
    rt::store_address(*this, address);
  } else if (is_v6()) {
    auto address = as<sockaddr_in6>(*this);
    address.sin6_port = htons(port);
    rt::store_address(*this, address);
  }
}

std::string endpoint::host() const {
  char text[INET6_ADDRSTRLEN];
  if (is_v4()) {
    auto const address = as<sockaddr_in>(*this);
    return ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  }
  if (is_v6()) {
    auto const address = as<sockaddr_in6>(*this);
    std::string host = ::inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof text);
    char zone[IF_NAMESIZE];
    if (address.sin6_scope_id != 0) {
      bool const has_name = ::if_indextoname(address.sin6_scope_id, zone) != nullptr;
      host += '%' + (has_name ? std::string(zone) : std::to_string(address.sin6_scope_id));
    }
    return host;
  }
  if (!is_unix() || size_ <= path_offset) return {};
  auto const address = as<sockaddr_un>(*this);
  if (address.sun_path[0] == '\0') return '@' + std::string(address.sun_path + 1, size_ - path_offset - 1);
  return {address.sun_path,
          ::strnlen(address.sun_path, std::min<std::size_t>(size_ - path_offset, sizeof address.sun_path))};
}

std::string endpoint::to_string() const {
  if (is_v4()) return host() + ':' + std::to_string(port());
  if (is_v6()) return '[' + host() + "]:" + std::to_string(port());
  return host();
}

bool endpoint::operator==(endpoint const& other) const noexcept {
  return size_ == other.size_ && std::memcmp(storage_, other.storage_, size_) == 0;
}

}  // namespace thrum
