// read, write, readv, writev.
//
//   socket      as recv and send
//   pipe        tries that do not block: with RWF_NOWAIT or, where the kernel does not support that (as for named
//               pipes), after a look with poll
//   file        the plain call, because a file is always "ready". If the disk is slow, sysmon takes the P, as from any
//               other call
//   terminal    read after a look with poll; written by another thread, because a write may block although poll says
//               that it would not
//   others      (eventfd, timerfd, inotify, ...) tries as for a pipe, but each write is one message
//
// If two goroutines see with poll that bytes are there, one of them may find none. It would then block its thread, with
// all goroutines that are at home there. So only one goroutine at a time may look and make the call (class turn). The
// others wait for the next event. Other threads and processes do not take part in the turns.
#include "core/sched.h"
#include "os/short_wait.h"
#include "posix/interpose.h"
#include "posix/parts.h"
#include "posix/plain.h"
#include "posix/would_block.h"

#include <array>

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thrum::posix {
namespace {

enum class fd_kind : std::uint8_t { file, pipe, terminal, other };

fd_kind kind_of(int fd) noexcept {
  struct stat its {};
  if (::fstat(fd, &its) != 0) return fd_kind::file;  // the plain call reports the error
  if (S_ISREG(its.st_mode) || S_ISDIR(its.st_mode) || S_ISBLK(its.st_mode)) return fd_kind::file;
  if (S_ISFIFO(its.st_mode)) return fd_kind::pipe;
  return S_ISCHR(its.st_mode) && ::isatty(fd) == 1 ? fd_kind::terminal : fd_kind::other;
}

bool is_unknown_to_kernel(int error) noexcept { return error == EOPNOTSUPP || error == ENOSYS; }

// Whether a plain call would return at once: the descriptor is invalid, nonblocking, or open only for the other
// direction (`only_for`). poll never reports a descriptor as ready for a direction for which it is not open.
bool answers_at_once(int fd, int only_for) noexcept {
  int const flags = ::fcntl(fd, F_GETFL);
  return flags < 0 || (flags & O_NONBLOCK) != 0 || (flags & O_ACCMODE) == only_for;
}

ssize_t would_block() noexcept {
  errno = EAGAIN;
  return -1;
}

// The turns, by descriptor number. A word is the epoch of the run of the goroutine that has the turn, or 0. If a run
// ends while a goroutine has the turn, the word does not count in the next run (T12), and the thread that the run has
// left behind does not take a turn of that run away.
using turns = std::array<rt::atomic<std::uint32_t>, 256>;
constinit turns readers{};
constinit turns writers{};

class turn {
 public:
  turn(turns& all, int fd) noexcept
      : word_(all[static_cast<unsigned>(fd) % all.size()]), run_(rt::current_m()->sched.epoch) {
    constexpr int asks_max = 100;  // the goroutine that has the turn makes two short calls, unless it is paused
    rt::os::short_wait wait(asks_max);
    for (int i = 0; i < asks_max && !has_; ++i) {
      if (i > 0) wait.pause();
      std::uint32_t seen = word_.load(rt::relaxed);
      // relaxed on failure, because then nothing is done. acquire pairs with the release in the destructor.
      has_ = seen != run_ && word_.compare_exchange(seen, run_, rt::acquire, rt::relaxed);
    }
  }
  ~turn() {
    std::uint32_t seen = run_;
    if (has_) static_cast<void>(word_.compare_exchange(seen, 0, rt::release, rt::relaxed));  // pairs with the next turn
  }
  turn(turn const&) = delete;
  turn& operator=(turn const&) = delete;
  explicit operator bool() const noexcept { return has_; }

 private:
  rt::atomic<std::uint32_t>& word_;
  std::uint32_t const run_;
  bool has_ = false;
};

ssize_t try_read(int fd, iovec const* parts, int count) noexcept {
  ssize_t const r = ::preadv2(fd, parts, count, -1, RWF_NOWAIT);
  if (r >= 0 || !is_unknown_to_kernel(errno)) return r;
  if (answers_at_once(fd, O_WRONLY)) return plain::readv(fd, parts, count);
  turn const mine(readers, fd);
  return mine && look_at(fd, POLLIN) != 0 ? plain::readv(fd, parts, count) : would_block();
}

// Reads from a descriptor that is not a socket. errno is as the caller had it.
ssize_t read_other(int fd, iovec const* parts, int count) noexcept {
  int const errno_before = errno;
  fd_kind const its = kind_of(fd);
  errno = errno_before;
  auto const plainly = [&] { return plain::readv(fd, parts, count); };
  if (its == fd_kind::file) return plainly();
  return until_done(
      fd, POLLIN, 0, [&] { return try_read(fd, parts, count); }, plainly);
}

ssize_t try_write_whole(int fd, iovec const* parts, int count) noexcept {
  ssize_t const r = ::pwritev2(fd, parts, count, -1, RWF_NOWAIT);
  if (r >= 0 || !is_unknown_to_kernel(errno)) return r;
  if (answers_at_once(fd, O_RDONLY)) return plain::writev(fd, parts, count);
  turn const mine(writers, fd);
  return mine && look_at(fd, POLLOUT) != 0 ? plain::writev(fd, parts, count) : would_block();
}

// Writes as much as the pipe has space for, from the byte `from` on. If poll says writable there is space for PIPE_BUF
// bytes, and the kernel does not split a write of at most that size.
ssize_t try_write_to_pipe(int fd, iovec const* parts, int count, std::size_t from, std::size_t total) noexcept {
  auto const used = static_cast<std::size_t>(count);
  if (from == 0 && total <= PIPE_BUF) return try_write_whole(fd, parts, count);
  parts_from rest(parts, used, from);
  iovec const* const list = from == 0 ? parts : rest.list();
  int const list_count = from == 0 ? count : rest.count();
  ssize_t const r = ::pwritev2(fd, list, list_count, -1, RWF_NOWAIT);
  if (r >= 0 || !is_unknown_to_kernel(errno)) return r;
  if (answers_at_once(fd, O_RDONLY)) return plain::writev(fd, list, list_count);
  turn const mine(writers, fd);
  std::size_t now = from;
  while (mine && now < total && look_at(fd, POLLOUT) != 0) {
    parts_from piece(parts, used, now, PIPE_BUF);
    ssize_t const written = plain::writev(fd, piece.list(), piece.count());
    if (written <= 0) return now > from ? static_cast<ssize_t>(now - from) : written;
    now += static_cast<std::size_t>(written);
  }
  return now > from ? static_cast<ssize_t>(now - from) : would_block();
}

ssize_t write_other(int fd, iovec const* parts, int count) noexcept {
  int const errno_before = errno;
  fd_kind const its = kind_of(fd);
  errno = errno_before;
  auto const plainly = [&] { return plain::writev(fd, parts, count); };
  auto const used = static_cast<std::size_t>(count);
  std::size_t const total = bytes_in(parts, used);
  if (its == fd_kind::file || total == 0) return plainly();
  if (its == fd_kind::terminal) return is_nonblocking(fd) ? plainly() : by_helper(plainly);
  if (its == fd_kind::other) {  // each write is one message
    return until_done(
        fd, POLLOUT, 0, [&] { return try_write_whole(fd, parts, count); }, plainly);
  }
  return until_all_done(
      fd, POLLOUT, total, 0, [&](std::size_t from) { return try_write_to_pipe(fd, parts, count, from, total); },
      [&](std::size_t from) {
        parts_from rest(parts, used, from);
        return from == 0 ? plainly() : plain::writev(fd, rest.list(), rest.count());
      });
}

// Reads from a socket. Fails with ENOTSOCK if the descriptor is not one.
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
