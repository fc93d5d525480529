// recv, recvfrom, recvmsg, recvmmsg. They try with MSG_DONTWAIT, and wait and try again.
#include "posix/interpose.h"
#include "posix/parts.h"
#include "posix/plain.h"
#include "posix/would_block.h"

#include <sys/socket.h>

namespace thrum::posix {
namespace {

bool is_stream(int fd) noexcept {
  int const errno_before = errno;
  int type = 0;
  socklen_t bytes = sizeof type;
  bool const is = ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
  errno = errno_before;
  return is;
}

template <class Receive>
ssize_t receive(int fd, int flags, Receive call) noexcept {
  return until_done(
      fd, POLLIN, SO_RCVTIMEO, [&] { return call(flags | MSG_DONTWAIT); }, [&] { return call(flags); });
}

// Receives with MSG_WAITALL: a stream is read until `bytes` bytes have come; other sockets deliver one message.
ssize_t receive_all(int fd, void* data, std::size_t bytes, int flags, sockaddr* from, socklen_t* from_bytes) noexcept {
  auto const call = [&](std::size_t done, int with) {
    return plain::recvfrom(fd, static_cast<char*>(data) + done, bytes - done, with, from, from_bytes);
  };
  return until_all_done(
      fd, POLLIN, is_stream(fd) ? bytes : 1, SO_RCVTIMEO,
      [&](std::size_t done) { return call(done, flags | MSG_DONTWAIT); },
      [&](std::size_t done) { return call(done, flags); });
}

// The system never waits for urgent data and for the error queue.
bool is_plain(int flags) noexcept { return (flags & (MSG_DONTWAIT | MSG_OOB | MSG_ERRQUEUE)) != 0 || !on_goroutine(); }

// With MSG_WAITALL a try may receive a part before it would block. Not every call can continue after a part, so
// MSG_WAITALL is handled separately.
bool waits_for_all(int flags) noexcept { return (flags & MSG_WAITALL) != 0; }

}  // namespace
}  // namespace thrum::posix

using namespace thrum::posix;

THRUM_POSIX_FILE(recv);

THRUM_POSIX_CALL ssize_t recv(int fd, void* data, std::size_t bytes, int flags) {
  if (is_plain(flags)) return plain::recv(fd, data, bytes, flags);
  if (waits_for_all(flags)) return recvfrom(fd, data, bytes, flags, nullptr, nullptr);
  return receive(fd, flags, [&](int with) { return plain::recv(fd, data, bytes, with); });
}

THRUM_POSIX_CALL ssize_t recvfrom(int fd, void* data, std::size_t bytes, int flags, sockaddr* from,
                                  socklen_t* from_bytes) {
  if (is_plain(flags)) return plain::recvfrom(fd, data, bytes, flags, from, from_bytes);
  if (waits_for_all(flags) && bytes != 0) {
    if ((flags & MSG_PEEK) == 0) return receive_all(fd, data, bytes, flags, from, from_bytes);
    return by_helper([&] { return plain::recvfrom(fd, data, bytes, flags, from, from_bytes); });
  }
  return receive(fd, flags, [&](int with) { return plain::recvfrom(fd, data, bytes, with, from, from_bytes); });
}

THRUM_POSIX_CALL ssize_t recvmsg(int fd, msghdr* message, int flags) {
  if (is_plain(flags)) return plain::recvmsg(fd, message, flags);
  auto const call = [&](int with) { return plain::recvmsg(fd, message, with); };
  if (waits_for_all(flags)) return by_helper([&] { return call(flags); });
  return receive(fd, flags, call);
}

THRUM_POSIX_CALL int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* limit) {
  if (is_plain(flags)) return plain::recvmmsg(fd, messages, count, flags, limit);
  // The kernel checks `limit` only between messages, and writes back what is left of it. So a helper makes the plain
  // call.
  if (limit != nullptr || waits_for_all(flags)) {
    return by_helper([&] { return plain::recvmmsg(fd, messages, count, flags, limit); });
  }
  errno_kept const kept;
  unsigned done = 0;
  ssize_t r = 0;
  do {
    r = receive(fd, flags, [&](int with) -> ssize_t {
      // A socket error ends the call with the messages that were received. The next call reports the error.
      if (done > 0 && (look_at(fd, POLLIN) & POLLERR) != 0) return 0;
      return plain::recvmmsg(fd, messages + done, count - done, with, nullptr);
    });
    if (r > 0) done += static_cast<unsigned>(r);
  } while (r > 0 && done < count && (flags & MSG_WAITFORONE) == 0 && !is_nonblocking(fd));
  return static_cast<int>(kept.result(done > 0 ? static_cast<ssize_t>(done) : r));
}
