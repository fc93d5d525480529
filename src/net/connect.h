// Making, accepting and connecting sockets of any kind.
#pragma once

#include "core/poll_desc.h"
#include <thrum/endpoint.h>

#include <cstdint>
#include <system_error>

namespace thrum::rt {

// A moment of the monotonic clock for a time from now; never_poll: none.
inline constexpr std::int64_t never_poll = INT64_MAX;
[[nodiscard]] std::int64_t moment_after(std::int64_t ns) noexcept;

// All of them: nullptr with an error.
struct bind_options {
  bool reuse_addr = false;
  bool reuse_port = false;
  bool no_delay = false;
  bool keep_alive = false;
  int backlog = 0;  // 0: it does not listen
};
[[nodiscard]] poll_desc* open_bound(int type, endpoint const& at, bind_options const& chosen, std::error_code& error);

// The machine has no such addresses: the next one of the list may do.
[[nodiscard]] bool is_want_of_family(std::error_code const& error) noexcept;

// The next connection, as `kind`. Waits, also for descriptors if there are none left.
[[nodiscard]] poll_desc* accept_next(poll_desc* listener, poll_kind kind, std::error_code& error);

// Connected, by this moment.
[[nodiscard]] poll_desc* open_connected(int type, endpoint const& to, std::int64_t until_ns, std::error_code& error);
// In two steps, so that others can close it meanwhile.
[[nodiscard]] poll_desc* begin_connect(int type, endpoint const& to, bool& is_done, std::error_code& error);
void end_connect(poll_desc* d, std::int64_t until_ns, std::error_code& error);

}  // namespace thrum::rt
