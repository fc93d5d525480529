// read, write, readv, writev.
//
//   a socket          as recv and send
//   a pipe            by tries that do not block (RWF_NOWAIT; where the kernel cannot, after a look by poll)
//   a file            the plain call: it is always "ready". If the disk is slow sysmon takes the P, as from any call
//   a terminal        read after a look; written by another thread, since a write may block although poll says otherwise
//   others (eventfd, timerfd, inotify, ...)    after a look
#include "posix/interpose.h"
#include "posix/parts.h"
#include "posix/plain.h"
#include "posix/would_block.h"

#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thrum::posix {
namespace {

enum class kind : std::uint8_t { file, pipe, terminal, other };

kind kind_of(int fd) noexcept {
  struct stat its {};
  if (::fstat(fd, &its) != 0) return kind::file;  // the plain call tells what is wrong
  if (S_ISREG(its.st_mode) || S_ISDIR(its.st_mode) || S_ISBLK(its.st_mode)) return kind::file;
  if (S_ISFIFO(its.st_mode)) return kind::pipe;
  return S_ISCHR(its.st_mode) && ::isatty(fd) == 1 ? kind::terminal : kind::other;
}

bool is_unknown_to_kernel(int error) noexcept { return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL; }

ssize_t try_read(int fd, iovec const* parts, int count) noexcept {
  ssize_t const r = ::preadv2(fd, parts, count, -1, RWF_NOWAIT);
  if (r >= 0 || !is_unknown_to_kernel(errno)) return r;
  if (look_at(fd, POLLIN) != 0) return plain::readv(fd, parts, count);
  errno = EAGAIN;
  return -1;
}

// Not a socket. With errno as the caller had it.
ssize_t read_other(int fd, iovec const* parts, int count) noexcept {
  int const errno_before = errno;
  kind const its = kind_of(fd);
  errno = errno_before;
  auto const plainly = [&] { return plain::readv(fd, parts, count); };
  if (its == kind::file) return plainly();
  return until_done(
      fd, POLLIN, 0, [&] { return try_read(fd, parts, count); }, plainly);
}

ssize_t try_write(int fd, kind its, iovec* parts, int count) noexcept {
  ssize_t const r = ::pwritev2(fd, parts, count, -1, RWF_NOWAIT);
  if (r >= 0 || !is_unknown_to_kernel(errno)) return r;
  if (look_at(fd, POLLOUT) == 0) {
    errno = EAGAIN;
    return -1;
  }
  if (its != kind::pipe) return plain::writev(fd, parts, count);
  // poll promises room for so much.
  return plain::write(fd, parts->iov_base, parts->iov_len < PIPE_BUF ? parts->iov_len : PIPE_BUF);
}

ssize_t write_other(int fd, iovec const* parts, int count) noexcept {
  int const errno_before = errno;
  kind const its = kind_of(fd);
  errno = errno_before;
  auto const plainly = [&] { return plain::writev(fd, parts, count); };
  auto const used = static_cast<std::size_t>(count);
  std::size_t const total = bytes_in(parts, used);
  if (its == kind::file || total == 0) return plainly();
  if (its == kind::terminal) return is_nonblocking(fd) ? plainly() : by_helper(plainly);
  if (its == kind::other) {  // what is written there is one message
    return until_done(
        fd, POLLOUT, 0, [&] { return try_write(fd, its, const_cast<iovec*>(parts), count); }, plainly);
  }
  return until_all_done(
      fd, POLLOUT, total, 0,
      [&](std::size_t from) {
        if (from == 0) return try_write(fd, its, const_cast<iovec*>(parts), count);
        parts_from rest(parts, used, from);
        return try_write(fd, its, rest.list(), rest.count());
      },
      [&](std::size_t from) {
        parts_from rest(parts, used, from);
        return from == 0 ? plainly() : plain::writev(fd, rest.list(), rest.count());
      });
}

// The tries of a socket, which also tell that it is none.
ssize_t read_socket(int fd, iovec const* parts, int count) noexcept {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = static_cast<std::size_t>(count);
  return until_done(
      fd, POLLIN, SO_RCVTIMEO, [&] { return plain::recvmsg(fd, &message, MSG_DONTWAIT); },
      [&] { return plain::recvmsg(fd, &message, 0); });
}

}  // namespace
}  // namespace thrum::posix

using namespace thrum::posix;

THRUM_POSIX_FILE(io);

THRUM_POSIX_CALL ssize_t read(int fd, void* data, std::size_t bytes) {
  if (!on_goroutine() || bytes == 0) return plain::read(fd, data, bytes);
  int const errno_before = errno;
  ssize_t const r = recv(fd, data, bytes, 0);
  if (r >= 0 || errno != ENOTSOCK) return r;
  errno = errno_before;
  iovec const all{data, bytes};
  return read_other(fd, &all, 1);
}

THRUM_POSIX_CALL ssize_t write(int fd, void const* data, std::size_t bytes) {
  if (!on_goroutine()) return plain::write(fd, data, bytes);
  int const errno_before = errno;
  ssize_t const r = send(fd, data, bytes, 0);
  if (r >= 0 || errno != ENOTSOCK) return r;
  errno = errno_before;
  iovec const all{const_cast<void*>(data), bytes};
  return write_other(fd, &all, 1);
}

THRUM_POSIX_CALL ssize_t readv(int fd, iovec const* parts, int count) {
  if (!on_goroutine() || count <= 0 || count > parts_max || bytes_in(parts, static_cast<std::size_t>(count)) == 0) {
    return plain::readv(fd, parts, count);
  }
  int const errno_before = errno;
  ssize_t const r = read_socket(fd, parts, count);
  if (r >= 0 || errno != ENOTSOCK) return r;
  errno = errno_before;
  return read_other(fd, parts, count);
}

THRUM_POSIX_CALL ssize_t writev(int fd, iovec const* parts, int count) {
  if (!on_goroutine() || count <= 0 || count > parts_max) return plain::writev(fd, parts, count);
  int const errno_before = errno;
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = static_cast<std::size_t>(count);
  ssize_t const r = sendmsg(fd, &message, 0);
  if (r >= 0 || errno != ENOTSOCK) return r;
  errno = errno_before;
  return write_other(fd, parts, count);
}

THRUM_POSIX_CALL ssize_t __read(int fd, void* data, std::size_t bytes) { return read(fd, data, bytes); }
THRUM_POSIX_CALL ssize_t __write(int fd, void const* data, std::size_t bytes) { return write(fd, data, bytes); }
