#include "os/descriptor_set.h"

#include "base/platform.h"
#include "os/kernel.h"
#include "os/repeat.h"

#include <algorithm>

#include <errno.h>
#include <sys/epoll.h>

namespace thrum::rt::os {

THRUM_OPAQUE int open_descriptor_set() noexcept {
  return static_cast<int>(repeat(call::epoll_create, [] { return ::epoll_create1(EPOLL_CLOEXEC); }));
}

THRUM_OPAQUE int watch_descriptor(int set, int fd, bool readable, bool writable) noexcept {
  epoll_event wanted{};
  wanted.events = (readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U);
  wanted.data.fd = fd;
  auto const control = [&](int operation) {
    return static_cast<int>(repeat(call::epoll_ctl, [&] { return ::epoll_ctl(set, operation, fd, &wanted); }));
  };
  if (!readable && !writable) return control(EPOLL_CTL_DEL);
  int const changed = control(EPOLL_CTL_MOD);
  return changed == -ENOENT ? control(EPOLL_CTL_ADD) : changed;
}

THRUM_OPAQUE int ready_descriptors(int set, ready_descriptor* out, int room) noexcept {
  constexpr int at_once = 16;
  epoll_event events[at_once];
  int const found =
      static_cast<int>(repeat([&] { return kernel::epoll_wait(set, events, std::min(room, at_once), 0); }));
  for (int i = 0; i < found; ++i) {
    bool const ended = (events[i].events & (EPOLLERR | EPOLLHUP)) != 0;
    out[i] = {events[i].data.fd, ended || (events[i].events & EPOLLIN) != 0,
              ended || (events[i].events & EPOLLOUT) != 0};
  }
  return found;
}

}  // namespace thrum::rt::os
