// How a server's thread takes new connections.
#pragma once

#include "debug/server_thread.h"
#include "os/clock.h"
#include "os/socket.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace thrum::rt::debug {

// How long a server waits for descriptors or memory when the process has none left.
inline constexpr std::int64_t without_resources_ns = 1'000'000'000;

[[nodiscard]] inline bool would_wait(long result) noexcept { return result == -EAGAIN || result == -EWOULDBLOCK; }

// Calls admit(fd) for each client that waits at the listener at `place`, and for `most` at once. Returns when the
// server is to accept again, 0: as soon as a client waits.
template <std::size_t Count, class Admit>
[[nodiscard]] std::int64_t accept_clients(server_descriptors<Count>& all, std::size_t place, std::size_t most,
                                          Admit admit) {
  for (std::size_t i = 0; i < most; ++i) {
    int const fd = os::accept(all.at(place));
    if (fd >= 0) {
      admit(fd);
    } else if (would_wait(fd)) {
      break;
    } else if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM || fd == -ENOBUFS) {
      return os::monotonic_ns() + without_resources_ns;
    } else if (fd == -EINVAL || fd == -ENOTSOCK || fd == -EOPNOTSUPP || fd == -EBADF) {
      all.keep(place, -1);  // the program has closed it, and the number is that of another file
      break;
    }
  }
  return 0;
}

}  // namespace thrum::rt::debug
