// Lookups of names: getaddrinfo, getnameinfo and gethostby... The C library asks the servers in ways of its own, so
// another thread makes the call (by_helper). Settings that the program has made in its thread's _res do not apply
// there. The number of these threads is limited, together with those of thrum's own lookups (net/c_lookup.h).
#include "net/c_lookup.h"
#include "posix/here.h"
#include "posix/interpose.h"
#include "posix/plain.h"

namespace thrum::posix {
namespace {

bool needs_no_server(char const* node, addrinfo const* hints) noexcept {
  return node == nullptr || (hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0);
}

template <class F>
auto by_lookup_helper(F plainly) noexcept {
  return by_helper<rt::lookup_turn>(plainly);
}

}  // namespace
}  // namespace thrum::posix

using namespace thrum::posix;

THRUM_POSIX_FILE(names);

THRUM_POSIX_CALL int getaddrinfo(char const* node, char const* service, addrinfo const* hints, addrinfo** found) {
  auto const plainly = [&] { return plain::getaddrinfo(node, service, hints, found); };
  return needs_no_server(node, hints) || !on_goroutine() ? plainly() : by_lookup_helper(plainly);
}

THRUM_POSIX_CALL int getnameinfo(sockaddr const* address, socklen_t bytes, char* host, socklen_t host_bytes,
                                 char* service, socklen_t service_bytes, int flags) {
  auto const plainly = [&] {
    return plain::getnameinfo(address, bytes, host, host_bytes, service, service_bytes, flags);
  };
  return (flags & NI_NUMERICHOST) != 0 || !on_goroutine() ? plainly() : by_lookup_helper(plainly);
}

THRUM_POSIX_CALL hostent* gethostbyname(char const* name) {
  auto const plainly = [&] { return plain::gethostbyname(name); };
  return on_goroutine() ? by_lookup_helper(plainly) : plainly();
}

THRUM_POSIX_CALL hostent* gethostbyname2(char const* name, int family) {
  auto const plainly = [&] { return plain::gethostbyname2(name, family); };
  return on_goroutine() ? by_lookup_helper(plainly) : plainly();
}

THRUM_POSIX_CALL hostent* gethostbyaddr(void const* address, socklen_t bytes, int family) {
  auto const plainly = [&] { return plain::gethostbyaddr(address, bytes, family); };
  return on_goroutine() ? by_lookup_helper(plainly) : plainly();
}

THRUM_POSIX_CALL int gethostbyname_r(char const* name, hostent* result, char* memory, std::size_t bytes,
                                     hostent** found, int* error) {
  auto const plainly = [&] { return plain::gethostbyname_r(name, result, memory, bytes, found, error); };
  return on_goroutine() ? by_lookup_helper(plainly) : plainly();
}

THRUM_POSIX_CALL int gethostbyname2_r(char const* name, int family, hostent* result, char* memory, std::size_t bytes,
                                      hostent** found, int* error) {
  auto const plainly = [&] { return plain::gethostbyname2_r(name, family, result, memory, bytes, found, error); };
  return on_goroutine() ? by_lookup_helper(plainly) : plainly();
}

THRUM_POSIX_CALL int gethostbyaddr_r(void const* address, socklen_t bytes, int family, hostent* result, char* memory,
                                     std::size_t room, hostent** found, int* error) {
  auto const plainly = [&] {
    return plain::gethostbyaddr_r(address, bytes, family, result, memory, room, found, error);
  };
  return on_goroutine() ? by_lookup_helper(plainly) : plainly();
}
