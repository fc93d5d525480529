#include "os/epoll_instance.h"

#include "base/platform.h"
#include "os/fault.h"
#include "os/kernel.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

namespace thrum::rt::os {

THRUM_OPAQUE int control_epoll(int instance, int operation, int fd, std::uint32_t events, std::uint64_t data) noexcept {
  if (int injected = 0; should_fail(call::epoll_ctl, injected)) return injected;
  epoll_event event{};
  event.events = events;
  event.data.u64 = data;
  return ::epoll_ctl(instance, operation, fd, &event) == 0 ? 0 : errno;
}

THRUM_OPAQUE int epoll_instance::make(std::uint64_t notify_data, descriptors& made) noexcept {
  int injected = 0;
  made.fd = should_fail(call::epoll_create, injected) ? -1 : ::epoll_create1(EPOLL_CLOEXEC);
  if (made.fd < 0) return injected != 0 ? injected : errno;
  made.notify_fd = should_fail(call::eventfd, injected) ? -1 : ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made.notify_fd < 0) return injected != 0 ? injected : errno;
  return control_epoll(made.fd, EPOLL_CTL_ADD, made.notify_fd, EPOLLIN | EPOLLET, notify_data);
}

void epoll_instance::close(descriptors const& all) noexcept {
  if (all.fd >= 0) kernel::close(all.fd);
  if (all.notify_fd >= 0) kernel::close(all.notify_fd);
}

THRUM_OPAQUE void epoll_instance::forget_in_child() noexcept {
  int const errno_before = errno;
  // relaxed: a child of fork has only one thread
  close({fd_.exchange(-1, relaxed), notify_fd_.exchange(-1, relaxed)});
  errno = errno_before;
}

}  // namespace thrum::rt::os
