// Looking up host names: with c-ares where that is possible (net/query.h), otherwise with the C library
// (net/c_lookup.h).
#include "net/resolve.h"

#include "base/never_destroyed.h"
#include "core/current.h"
#include "net/address.h"
#include "net/c_lookup.h"
#include "net/connect.h"
#include "net/io_call.h"
#include "net/query.h"
#include <thrum/blocking.h>
#include <thrum/endpoint.h>
#include <thrum/fd.h>

#include <cstring>
#include <string>

#include <netdb.h>
#include <sys/socket.h>

namespace thrum {
namespace {

class resolver_errors final : public std::error_category {
 public:
  [[nodiscard]] char const* name() const noexcept override { return "resolver"; }
  [[nodiscard]] std::string message(int code) const override { return ::gai_strerror(code); }
};
constinit rt::never_destroyed<resolver_errors> the_category;

}  // namespace

std::error_category const& resolve_category() noexcept { return the_category.value; }

namespace {

std::vector<endpoint> resolve_until(std::string_view host, std::uint16_t port, std::int64_t until_ns,
                                    std::error_code& error) {
  error.clear();
  if (rt::has_nul(host)) {
    error = rt::system_error_of(EINVAL);
    return {};
  }
  if (endpoint number; rt::parse_host(host, port, number)) return {number};
  std::string const name(host);
  // names_can_be_queried is called as an announced call, because its first call reads files and loads a library.
  rt::M const* const m = rt::callers_m();
  bool const queries = m != nullptr && !m->is_foreign && blocking([] { return rt::names_can_be_queried(); });
  if (queries) return rt::query_name(name, port, until_ns, error);
  return rt::look_up_by_c_library(name, port, until_ns, error);
}

}  // namespace

std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::error_code& error) {
  return resolve_until(host, port, rt::never_poll, error);
}

std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::chrono::nanoseconds timeout,
                              std::error_code& error) {
  return resolve_until(host, port, rt::moment_after(timeout.count()), error);
}

std::vector<endpoint> resolve(std::string_view host, std::uint16_t port) {
  return detail::or_throw(detail::call_to{"resolve", host}, [&](std::error_code& e) { return resolve(host, port, e); });
}

std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::chrono::nanoseconds timeout) {
  return detail::or_throw(detail::call_to{"resolve", host},
                          [&](std::error_code& e) { return resolve(host, port, timeout, e); });
}

namespace rt {

std::vector<endpoint> resolve_to_listen(std::string_view address, std::error_code& error) {
  auto const parts = split_address(address);
  if (!parts.is_valid) {
    error = system_error_of(EINVAL);
    return {};
  }
  if (!parts.host.empty()) return resolve(parts.host, parts.port, error);
  error.clear();
  std::vector<endpoint> any(2);  // The first one accepts IPv4 too. The second one is for machines without IPv6.
  static_cast<void>(parse_host("::", parts.port, any[0]));
  static_cast<void>(parse_host("0.0.0.0", parts.port, any[1]));
  return any;
}

std::vector<endpoint> resolve_to_dial(std::string_view address, std::int64_t until_ns, std::error_code& error) {
  auto const parts = split_address(address);
  if (!parts.is_valid) {
    error = system_error_of(EINVAL);
    return {};
  }
  return resolve_until(parts.host.empty() ? "localhost" : parts.host, parts.port, until_ns, error);
}

}  // namespace rt
}  // namespace thrum
