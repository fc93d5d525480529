// accept, accept4, connect. These cannot be tried without blocking unless the descriptor is changed, so another thread
// makes the call (by_helper).
//
// accept calls the helper only when a connection is there, and the goroutines that accept from one socket take turns.
// Otherwise several goroutines could see the same connection. One of them would get it, and each of the others would
// keep a thread until the next connection comes.
#include "posix/interpose.h"
#include "posix/plain.h"
#include "posix/would_block.h"

#include <sys/socket.h>

namespace thrum::posix {
namespace {

// True if the socket listens. If it does not, accept fails at once.
bool listens(int fd) noexcept {
  int is = 0;
  socklen_t bytes = sizeof is;
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is, &bytes) == 0 && is != 0;
}

template <class Plain>
int accept_when_ready(int fd, Plain plain) noexcept {
  errno_kept const kept;
  auto const result = [&](int r) { return static_cast<int>(kept.result(r)); };
  if (!listens(fd) || is_nonblocking(fd) || must_not_park()) return result(plain());
  blocked_call waits(fd, POLLIN, SO_RCVTIMEO, turn_order::in_turn);
  // The helper may start late, and the number may belong to another file by then.
  auto const unless_closed = [&] {
    if (!waits.was_closed()) return plain();
    errno = EBADF;
    return -1;
  };
  for (;;) {
    if (waits.has_turn() && look_at(fd, POLLIN) != 0) return result(by_helper(unless_closed));
    switch (waits.wait()) {
      case blocked_call::next_step::try_again: break;
      case blocked_call::next_step::give_up: return -1;
      case blocked_call::next_step::call_helper: return result(by_helper(unless_closed));
    }
  }
}

bool is_datagram(int fd) noexcept {
  int type = 0;
  socklen_t bytes = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 || type == SOCK_DGRAM || type == SOCK_RAW;
}

}  // namespace
}  // namespace thrum::posix

using namespace thrum::posix;

THRUM_POSIX_FILE(connect);

THRUM_POSIX_CALL int accept(int fd, sockaddr* from, socklen_t* bytes) {
  if (!on_goroutine()) return plain::accept(fd, from, bytes);
  return accept_when_ready(fd, [&] { return plain::accept(fd, from, bytes); });
}

THRUM_POSIX_CALL int accept4(int fd, sockaddr* from, socklen_t* bytes, int flags) {
  if (!on_goroutine()) return plain::accept4(fd, from, bytes, flags);
  return accept_when_ready(fd, [&] { return plain::accept4(fd, from, bytes, flags); });
}

THRUM_POSIX_CALL int connect(int fd, sockaddr const* to, socklen_t bytes) {
  if (!on_goroutine()) return plain::connect(fd, to, bytes);
  int const errno_before = errno;
  bool const is_short = is_nonblocking(fd) || is_datagram(fd);
  errno = errno_before;
  if (is_short) return plain::connect(fd, to, bytes);
  return by_helper([&] { return plain::connect(fd, to, bytes); });
}

THRUM_POSIX_CALL int __connect(int fd, sockaddr const* to, socklen_t bytes) { return connect(fd, to, bytes); }
