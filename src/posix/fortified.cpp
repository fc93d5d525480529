// The variants of these calls that _FORTIFY_SOURCE uses. They check the size of the buffer first.
#include "base/platform.h"
#include "posix/interpose.h"

#include <cstddef>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

extern "C" [[noreturn]] void __chk_fail();

namespace {

void check(bool fits) {
  if (!fits) __chk_fail();
}

}  // namespace

THRUM_POSIX_FILE(fortified);

THRUM_POSIX_CALL ssize_t __read_chk(int fd, void* data, std::size_t bytes, std::size_t room) {
  check(bytes <= room);
  return read(fd, data, bytes);
}

THRUM_POSIX_CALL ssize_t __recv_chk(int fd, void* data, std::size_t bytes, std::size_t room, int flags) {
  check(bytes <= room);
  return recv(fd, data, bytes, flags);
}

THRUM_POSIX_CALL ssize_t __recvfrom_chk(int fd, void* data, std::size_t bytes, std::size_t room, int flags,
                                        sockaddr* from, socklen_t* from_bytes) {
  check(bytes <= room);
  return recvfrom(fd, data, bytes, flags, from, from_bytes);
}

THRUM_POSIX_CALL int __poll_chk(pollfd* fds, nfds_t count, int ms, std::size_t room) {
  check(room / sizeof *fds >= count);
  return poll(fds, count, ms);
}

THRUM_POSIX_CALL int __ppoll_chk(pollfd* fds, nfds_t count, timespec const* limit, sigset_t const* mask,
                                 std::size_t room) {
  check(room / sizeof *fds >= count);
  return ppoll(fds, count, limit, mask);
}
