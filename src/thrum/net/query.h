// Looks up host names with c-ares. The sockets of c-ares are in thrum's poller, so a thousand goroutines that look up
// names keep no thread. getaddrinfo would keep one thread per lookup.
//
// c-ares knows two sources, /etc/hosts and DNS. The C library looks the name up instead (net/c_lookup.h)
//  - if the machine is configured to ask other sources as well (multicast DNS, a directory, a system daemon);
//  - if c-ares is not installed;
//  - if the caller is a foreign thread, because that thread would wait inside the runtime, and could not continue if
//    the run ended meanwhile.
// Old spellings of addresses, such as "127.1", are not accepted as names here.
#pragma once

#include <thrum/endpoint.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace thrum::rt {

// True if c-ares is installed, /etc/nsswitch.conf names no source that c-ares does not know, and THRUM_DEBUG=netdns=c
// does not ask for the C library. The answer is computed once per process.
[[nodiscard]] bool names_can_be_queried();

// True if the "hosts:" line in the text of an nsswitch.conf names only sources that c-ares knows.
[[nodiscard]] bool sources_are_plain(std::string_view nsswitch);

// Must be called on a goroutine. Waits until `until_ns` at most; with never_poll, until c-ares gives up. Errors are
// those of resolve_category, timed_out, and system errors.
[[nodiscard]] std::vector<endpoint> query_name(std::string const& name, std::uint16_t port, std::int64_t until_ns,
                                               std::error_code& error);

// For tests. `servers` is "address:port,..." and replaces the name servers of /etc/resolv.conf. An empty string
// restores those.
void set_name_servers(std::string servers);

}  // namespace thrum::rt
