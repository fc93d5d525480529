// Calls on sockets and other descriptors that never block the thread.
//
// All functions return 0 or more, or -errno, and leave errno itself unchanged (T08). A call that a signal interrupts is
// repeated. New descriptors are close-on-exec and non-blocking. No function here raises SIGPIPE on a socket.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/socket.h>
#include <sys/uio.h>

namespace thrum::rt::os {

void close(int fd) noexcept;
// Closes the file behind the number `fd`, which refers to the file of `by` from then on. So no other file gets this
// number while a thread may still use it.
void replace(int fd, int by) noexcept;
[[nodiscard]] int set_nonblocking(int fd) noexcept;

enum class direction : bool { read, write };
[[nodiscard]] bool would_block(int fd, direction which) noexcept;

// SOCK_STREAM, SOCK_DGRAM and so on, or -ENOTSOCK if the descriptor is not a socket.
[[nodiscard]] int socket_type(int fd) noexcept;
[[nodiscard]] bool is_tcp(int fd) noexcept;

[[nodiscard]] int open_socket(int family, int type, int protocol) noexcept;
[[nodiscard]] int open_socket_pair(int type, int (&ends)[2]) noexcept;
[[nodiscard]] int bind(int fd, void const* address, std::uint32_t bytes) noexcept;
[[nodiscard]] int listen(int fd, int backlog) noexcept;
[[nodiscard]] int accept(int fd) noexcept;
// -EINPROGRESS means that the connection attempt continues in the kernel, also if a signal interrupted the call.
// socket_error tells how it ended.
[[nodiscard]] int connect(int fd, void const* address, std::uint32_t bytes) noexcept;
[[nodiscard]] int socket_error(int fd) noexcept;
[[nodiscard]] int shutdown(int fd, int how) noexcept;

[[nodiscard]] int set_option(int fd, int level, int name, int value) noexcept;
[[nodiscard]] int get_option(int fd, int level, int name, int& value) noexcept;
void reset_when_closed(int fd) noexcept;
// Whether close() waits until the peer has received everything (SO_LINGER).
[[nodiscard]] bool lingers(int fd) noexcept;
// Whether it is a socket of the internet or a Unix socket. The kernel waits in the close of some others (AF_PACKET).
[[nodiscard]] bool is_internet_or_unix(int fd) noexcept;
// Whether it is a pipe, with a name or without. Asks no file server for news, so it does not wait.
[[nodiscard]] bool is_pipe(int fd) noexcept;
[[nodiscard]] int local_address(int fd, void* address, std::uint32_t& bytes) noexcept;
[[nodiscard]] int peer_address(int fd, void* address, std::uint32_t& bytes) noexcept;

[[nodiscard]] long receive(int fd, void* data, std::size_t bytes) noexcept;
[[nodiscard]] long send(int fd, void const* data, std::size_t bytes) noexcept;
[[nodiscard]] long receive(int fd, msghdr& message) noexcept;
[[nodiscard]] long send(int fd, msghdr const& message) noexcept;
[[nodiscard]] long receive_many(int fd, mmsghdr* messages, unsigned count) noexcept;
[[nodiscard]] long send_many(int fd, mmsghdr* messages, unsigned count) noexcept;

// For descriptors that are not sockets.
[[nodiscard]] long read(int fd, void* data, std::size_t bytes) noexcept;
[[nodiscard]] long write(int fd, void const* data, std::size_t bytes) noexcept;
[[nodiscard]] long read(int fd, iovec const* parts, int count) noexcept;
[[nodiscard]] long write(int fd, iovec const* parts, int count) noexcept;

// send_file sends from a file at `offset` and advances the offset. splice moves bytes between two descriptors, one of
// which is a pipe.
[[nodiscard]] long send_file(int to, int from, std::int64_t& offset, std::size_t bytes) noexcept;
[[nodiscard]] long splice(int from, int to, std::size_t bytes) noexcept;
[[nodiscard]] int open_pipe(int (&ends)[2]) noexcept;

// Makes a write to a pipe without a reader fail instead of ending the program, as in Go. If SIGPIPE has its default
// action, it gets a handler, which ends the program only if standard output or standard error is broken. SIG_IGN would
// not do, because programs that this program starts would inherit it.
void survive_broken_pipes() noexcept;

}  // namespace thrum::rt::os
