// The addresses of a "host:port" text, whose host may be a name.
#pragma once

#include <thrum/endpoint.h>

#include <cstdint>
#include <string_view>
#include <system_error>
#include <vector>

namespace thrum::rt {

// The addresses to listen on. An empty host means every address of this machine.
[[nodiscard]] std::vector<endpoint> resolve_to_listen(std::string_view address, std::error_code& error);
// The addresses to connect to. An empty host means "localhost". The lookup of a name ends by `until_ns`; with
// never_poll it has no time limit.
[[nodiscard]] std::vector<endpoint> resolve_to_dial(std::string_view address, std::int64_t until_ns,
                                                    std::error_code& error);

}  // namespace thrum::rt
