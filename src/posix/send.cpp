// send, sendto, sendmsg, sendmmsg. They try with MSG_DONTWAIT, and wait and try again until all bytes are sent.
#include "posix/interpose.h"
#include "posix/parts.h"
#include "posix/plain.h"
#include "posix/would_block.h"

#include <sys/socket.h>

namespace thrum::posix {
namespace {

bool is_plain(int flags) noexcept { return (flags & MSG_DONTWAIT) != 0 || !on_goroutine(); }

// Sends all bytes. first(flags) makes the call as the user asked for it, from the first byte on. The rest of a stream
// is sent without address and ancillary data.
template <class First>
ssize_t send_all(int fd, iovec const* parts, std::size_t count, int flags, First first) noexcept {
  auto const send_rest = [&](std::size_t from, int with) {
    parts_from rest(parts, count, from);
    msghdr message{};
    message.msg_iov = rest.list();
    message.msg_iovlen = static_cast<std::size_t>(rest.count());
    return plain::sendmsg(fd, &message, with);
  };
  return until_all_done(
      fd, POLLOUT, bytes_in(parts, count), SO_SNDTIMEO,
      [&](std::size_t from) -> ssize_t {
        if (from == 0) return first(flags | MSG_DONTWAIT);
        return send_rest(from, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
      },
      [&](std::size_t from) { return from == 0 ? first(flags) : send_rest(from, flags | MSG_NOSIGNAL); });
}

}  // namespace
}  // namespace thrum::posix

using namespace thrum::posix;

THRUM_POSIX_FILE(send);

THRUM_POSIX_CALL ssize_t send(int fd, void const* data, std::size_t bytes, int flags) {
  if (is_plain(flags)) return plain::send(fd, data, bytes, flags);
  iovec const all{const_cast<void*>(data), bytes};
  return send_all(fd, &all, 1, flags, [&](int with) { return plain::send(fd, data, bytes, with); });
}

THRUM_POSIX_CALL ssize_t sendto(int fd, void const* data, std::size_t bytes, int flags, sockaddr const* to,
                                socklen_t to_bytes) {
  if (is_plain(flags)) return plain::sendto(fd, data, bytes, flags, to, to_bytes);
  // With MSG_FASTOPEN the call connects, and MSG_DONTWAIT would apply to the connecting as well. So a helper makes the
  // call.
  if ((flags & MSG_FASTOPEN) != 0) {
    return by_helper([&] { return plain::sendto(fd, data, bytes, flags, to, to_bytes); });
  }
  iovec const all{const_cast<void*>(data), bytes};
  return send_all(fd, &all, 1, flags, [&](int with) { return plain::sendto(fd, data, bytes, with, to, to_bytes); });
}

THRUM_POSIX_CALL ssize_t sendmsg(int fd, msghdr const* message, int flags) {
  if (is_plain(flags)) return plain::sendmsg(fd, message, flags);
  if ((flags & MSG_FASTOPEN) != 0 || message == nullptr || message->msg_iovlen > parts_max) {
    return by_helper([&] { return plain::sendmsg(fd, message, flags); });
  }
  return send_all(fd, message->msg_iov, message->msg_iovlen, flags,
                  [&](int with) { return plain::sendmsg(fd, message, with); });
}

THRUM_POSIX_CALL int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  if (is_plain(flags)) return plain::sendmmsg(fd, messages, count, flags);
  errno_kept const kept;
  unsigned done = 0;
  for (; done < count; ++done) {
    ssize_t const r = sendmsg(fd, &messages[done].msg_hdr, flags);
    if (r < 0) break;
    messages[done].msg_len = static_cast<unsigned>(r);
    if (static_cast<std::size_t>(r) < bytes_in(messages[done].msg_hdr.msg_iov, messages[done].msg_hdr.msg_iovlen)) {
      ++done;
      break;
    }
  }
  return done == 0 && count != 0 ? -1 : static_cast<int>(kept.result(static_cast<ssize_t>(done)));
}
