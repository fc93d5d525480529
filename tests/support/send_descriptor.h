// Sends a descriptor over a Unix socket.
#pragma once

#include <array>
#include <cstring>
#include <string>

#include <sys/socket.h>
#include <sys/uio.h>

namespace thrum::test {

// The descriptor comes with the first byte. Returns what sendmsg returns.
inline long send_with_descriptor(int over, std::string text, int descriptor) {
  iovec part{text.data(), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptor)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return ::sendmsg(over, &message, MSG_NOSIGNAL);
}

}  // namespace thrum::test
