// Names by questions of our own, instead of getaddrinfo on a thread: c-ares asks, its sockets are in our poller, and a thousand
// goroutines that look up names cost no thread.
//
// It knows the sources that c-ares knows: /etc/hosts and DNS. Where the machine is set up to ask others as well (multicast DNS, a
// directory, a daemon of the system's), the C library must, and so it does where c-ares is not installed, and for threads from
// outside, which could not go on if the run ended meanwhile. Old spellings of addresses ("127.1") are no names here.
#pragma once

#include <thrum/endpoint.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace thrum::rt {

// Whether c-ares is there, and /etc/nsswitch.conf asks for no other source.
[[nodiscard]] bool names_can_be_queried();

// The sources of hosts in the text of an nsswitch.conf: no other than those that c-ares knows.
[[nodiscard]] bool sources_are_plain(std::string_view nsswitch);

// On a goroutine, until `until_ns` at most (never_poll: as long as c-ares has patience). Errors: resolve_category, timed_out, the system's.
[[nodiscard]] std::vector<endpoint> query_name(std::string const& name, std::uint16_t port, std::int64_t until_ns,
                                               std::error_code& error);

// For tests: "address:port,...", in place of those in /etc/resolv.conf. Empty: those again.
void set_name_servers(std::string servers);

}  // namespace thrum::rt
