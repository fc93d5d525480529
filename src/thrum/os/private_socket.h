// Unix sockets that only processes of this user can reach: for the debug socket (debug/request_server.h).
//
// The functions that return an int return 0 or more, or -errno, and leave errno unchanged (T08). Descriptors are
// close-on-exec and non-blocking. No locks, no allocation, except where a comment says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <poll.h>

namespace thrum::rt::os {

// The longest path that a socket can have, with the final zero.
inline constexpr std::size_t socket_path_max = 108;

// The effective user of this process.
[[nodiscard]] std::uint32_t user_id() noexcept;

// Makes a directory with mode 0700. One that is there is taken if it belongs to this user and is no symbolic link, and
// gets this mode. -EPERM: it belongs to another user. -ENOTDIR: it is no directory.
[[nodiscard]] int make_private_directory(char const* path) noexcept;

// Which file a name or a descriptor stood for.
struct file_identity {
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  friend bool operator==(file_identity const&, file_identity const&) = default;
};
[[nodiscard]] int identity_of(char const* path, file_identity& out) noexcept;
[[nodiscard]] int identity_of(int fd, file_identity& out) noexcept;
// Removes the file if it is this one. May be called in a signal handler.
void remove_if_it_is(char const* path, file_identity const& wanted) noexcept;

// Makes a socket at `path` with mode 0600 that takes connections. A socket that is there and that no process listens to
// is replaced. -EADDRINUSE: a process listens there, or there is a file that is no socket.
[[nodiscard]] int listen_privately(char const* path, int backlog) noexcept;
// Removes sockets named PID.sock from the directory if there is no such process and no process listens to them.
// Allocates.
void remove_stale_sockets(char const* directory) noexcept;

// The user of the process at the other end of a connection, as it was when it connected.
[[nodiscard]] int user_of_peer(int fd, std::uint32_t& out) noexcept;

// Receives bytes, and the descriptor that came with them, if any. `descriptor` is otherwise unchanged. If several came,
// all but the first are closed. Returns the number of bytes; 0: the peer sends no more.
[[nodiscard]] long receive_with_descriptor(int fd, std::span<char> to, int& descriptor) noexcept;

// Sleeps until one of the descriptors is ready, for `timeout_ns` at most; -1: without a limit. Returns the number of
// those that are. 0 after the timeout and after a signal.
[[nodiscard]] int wait_for_any(std::span<pollfd> all, std::int64_t timeout_ns) noexcept;

}  // namespace thrum::rt::os
