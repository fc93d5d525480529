// Creating, accepting and connecting sockets of every type. The functions wait on the caller's goroutine and return the
// poller's record of the new socket.
#pragma once

#include "core/poll_desc.h"
#include <thrum/endpoint.h>

#include <cstdint>
#include <system_error>

namespace thrum::rt {

// never_poll stands for "no time limit". moment_after returns the monotonic time that is `ns` from the present, or
// never_poll for never_poll.
inline constexpr std::int64_t never_poll = INT64_MAX;
[[nodiscard]] std::int64_t moment_after(std::int64_t ns) noexcept;

// Each function below that returns a poll_desc* returns nullptr and sets `error` if it fails.
struct bind_options {
  bool reuse_addr = false;
  bool reuse_port = false;
  bool no_delay = false;
  bool keep_alive = false;
  int backlog = 0;  // 0: the socket does not listen
};
[[nodiscard]] poll_desc* open_bound(int type, endpoint const& at, bind_options const& chosen, std::error_code& error);

// True if the error says that the machine does not have this address family or address. The next address of the list
// may work.
[[nodiscard]] bool is_want_of_family(std::error_code const& error) noexcept;

// Accepts the next connection and gives its record the kind `kind`. Waits for a connection. If the process has no free
// descriptors or memory, it waits and tries again.
[[nodiscard]] poll_desc* accept_next(poll_desc* listener, poll_kind kind, std::error_code& error);

// Connects by `until_ns`, or fails with timed_out.
[[nodiscard]] poll_desc* open_connected(int type, endpoint const& to, std::int64_t until_ns, std::error_code& error);
// open_connected in two steps, so that another goroutine can close the socket between them, or during end_connect. If
// begin_connect sets `is_done`, the socket is connected and end_connect is not needed.
[[nodiscard]] poll_desc* begin_connect(int type, endpoint const& to, bool& is_done, std::error_code& error);
void end_connect(poll_desc* d, std::int64_t until_ns, std::error_code& error);

}  // namespace thrum::rt
