// System calls by number, for the functions of the C library that thrum::posix replaces.
//
// thrum::posix is a higher layer, so lower layers must not call it. If a lower layer called one of these functions by
// name, thrum::posix would make the plain call. But at the first time it asks the loader for the original function, and
// the loader's lock must not be taken under a lock of the runtime, in a child of fork or in a signal handler (T01).
//
// They return -1 and set errno, as the C library's functions do. In builds with a sanitizer the C library's functions
// are called by name. ThreadSanitizer derives from them which thread saw what other threads had written, and
// AddressSanitizer checks the memory that is passed to them.
#pragma once

#include "base/platform.h"

#include <cstddef>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

namespace thrum::rt::os::kernel {

inline constexpr bool by_name = with_tsan;
inline constexpr bool data_by_name = with_tsan || with_asan;

inline long read(int fd, void* data, std::size_t bytes) noexcept {
  if constexpr (data_by_name) return ::read(fd, data, bytes);
  return ::syscall(SYS_read, fd, data, bytes);
}

inline long write(int fd, void const* data, std::size_t bytes) noexcept {
  if constexpr (data_by_name) return ::write(fd, data, bytes);
  return ::syscall(SYS_write, fd, data, bytes);
}

// The kernel takes the count as a long, and an int that is passed through the variadic syscall() is not widened.
inline long readv(int fd, iovec const* parts, int count) noexcept {
  if constexpr (data_by_name) return ::readv(fd, parts, count);
  return ::syscall(SYS_readv, fd, parts, static_cast<long>(count));
}

inline long writev(int fd, iovec const* parts, int count) noexcept {
  if constexpr (data_by_name) return ::writev(fd, parts, count);
  return ::syscall(SYS_writev, fd, parts, static_cast<long>(count));
}

inline int close(int fd) noexcept {
  if constexpr (by_name) return ::close(fd);
  return static_cast<int>(::syscall(SYS_close, fd));
}

inline int dup3(int from, int to, int flags) noexcept {
  if constexpr (by_name) return ::dup3(from, to, flags);
  return static_cast<int>(::syscall(SYS_dup3, from, to, flags));
}

inline long recv(int fd, void* data, std::size_t bytes, int flags) noexcept {
  if constexpr (data_by_name) return ::recv(fd, data, bytes, flags);
  return ::syscall(SYS_recvfrom, fd, data, bytes, flags, nullptr, nullptr);
}

inline long send(int fd, void const* data, std::size_t bytes, int flags) noexcept {
  if constexpr (data_by_name) return ::send(fd, data, bytes, flags);
  return ::syscall(SYS_sendto, fd, data, bytes, flags, nullptr, 0);
}

inline long recvmsg(int fd, msghdr* message, int flags) noexcept {
  if constexpr (data_by_name) return ::recvmsg(fd, message, flags);
  return ::syscall(SYS_recvmsg, fd, message, flags);
}

inline long sendmsg(int fd, msghdr const* message, int flags) noexcept {
  if constexpr (data_by_name) return ::sendmsg(fd, message, flags);
  return ::syscall(SYS_sendmsg, fd, message, flags);
}

inline long recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags) noexcept {
  if constexpr (data_by_name) return ::recvmmsg(fd, messages, count, flags, nullptr);
  return ::syscall(SYS_recvmmsg, fd, messages, count, flags, nullptr);
}

inline long sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) noexcept {
  if constexpr (data_by_name) return ::sendmmsg(fd, messages, count, flags);
  return ::syscall(SYS_sendmmsg, fd, messages, count, flags);
}

inline int accept4(int fd, int flags) noexcept {
  if constexpr (by_name) return ::accept4(fd, nullptr, nullptr, flags);
  return static_cast<int>(::syscall(SYS_accept4, fd, nullptr, nullptr, flags));
}

inline int connect(int fd, sockaddr const* to, socklen_t bytes) noexcept {
  if constexpr (by_name) return ::connect(fd, to, bytes);
  return static_cast<int>(::syscall(SYS_connect, fd, to, bytes));
}

// Polls one descriptor without waiting.
inline int look(pollfd& one) noexcept {
  if constexpr (by_name) return ::poll(&one, 1, 0);
  timespec const at_once{};
  return static_cast<int>(::syscall(SYS_ppoll, &one, 1, &at_once, nullptr, 0));
}

inline int epoll_wait(int instance, epoll_event* events, int count, int timeout_ms) noexcept {
  if constexpr (by_name) return ::epoll_pwait(instance, events, count, timeout_ms, nullptr);
  return static_cast<int>(::syscall(SYS_epoll_pwait, instance, events, count, timeout_ms, nullptr, 0));
}

}  // namespace thrum::rt::os::kernel
