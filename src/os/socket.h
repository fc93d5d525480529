// Sockets and other descriptors that never make a thread wait: every call here answers at once.
//
// All answer 0 or more, or -errno; errno itself stays as it was (T08). A call that a signal interrupts is repeated. New
// descriptors are close-on-exec and non-blocking. Nothing here raises SIGPIPE on a socket.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/socket.h>
#include <sys/uio.h>

namespace thrum::rt::os {

void close(int fd) noexcept;
[[nodiscard]] int set_nonblocking(int fd) noexcept;

enum class direction : bool { read, write };
[[nodiscard]] bool would_block(int fd, direction which) noexcept;

// SOCK_STREAM and its kin; -ENOTSOCK: no socket.
[[nodiscard]] int socket_type(int fd) noexcept;
[[nodiscard]] bool is_tcp(int fd) noexcept;

[[nodiscard]] int open_socket(int family, int type, int protocol) noexcept;
[[nodiscard]] int open_socket_pair(int type, int (&ends)[2]) noexcept;
[[nodiscard]] int bind(int fd, void const* address, std::uint32_t bytes) noexcept;
[[nodiscard]] int listen(int fd, int backlog) noexcept;
[[nodiscard]] int accept(int fd) noexcept;
// -EINPROGRESS, also after a signal: it goes on by itself, and socket_error tells how it ended.
[[nodiscard]] int connect(int fd, void const* address, std::uint32_t bytes) noexcept;
[[nodiscard]] int socket_error(int fd) noexcept;
[[nodiscard]] int shutdown(int fd, int how) noexcept;

[[nodiscard]] int set_option(int fd, int level, int name, int value) noexcept;
[[nodiscard]] int get_option(int fd, int level, int name, int& value) noexcept;
void reset_when_closed(int fd) noexcept;
// Whether closing it waits until the peer has everything (SO_LINGER).
[[nodiscard]] bool lingers(int fd) noexcept;
[[nodiscard]] int local_address(int fd, void* address, std::uint32_t& bytes) noexcept;
[[nodiscard]] int peer_address(int fd, void* address, std::uint32_t& bytes) noexcept;

[[nodiscard]] long receive(int fd, void* data, std::size_t bytes) noexcept;
[[nodiscard]] long send(int fd, void const* data, std::size_t bytes) noexcept;
[[nodiscard]] long receive(int fd, msghdr& message) noexcept;
[[nodiscard]] long send(int fd, msghdr const& message) noexcept;
[[nodiscard]] long receive_many(int fd, mmsghdr* messages, unsigned count) noexcept;
[[nodiscard]] long send_many(int fd, mmsghdr* messages, unsigned count) noexcept;

// For what is no socket.
[[nodiscard]] long read(int fd, void* data, std::size_t bytes) noexcept;
[[nodiscard]] long write(int fd, void const* data, std::size_t bytes) noexcept;
[[nodiscard]] long read(int fd, iovec const* parts, int count) noexcept;
[[nodiscard]] long write(int fd, iovec const* parts, int count) noexcept;

// From a file, at an offset that is moved on; between two descriptors of which one is a pipe.
[[nodiscard]] long send_file(int to, int from, std::int64_t& offset, std::size_t bytes) noexcept;
[[nodiscard]] long splice(int from, int to, std::size_t bytes) noexcept;
[[nodiscard]] int open_pipe(int (&ends)[2]) noexcept;

// A write to a pipe that nobody reads shall fail, not end the program, as in Go: SIGPIPE, as long as it has its default action, gets a
// handler. It ends the program only if its standard output or standard error is broken. (Not SIG_IGN: programs that
// are started would inherit that.)
void survive_broken_pipes() noexcept;

}  // namespace thrum::rt::os
