// An epoll instance of the process, with the eventfd that ends a sleep in it. Each is made once and kept until the
// process ends. os/epoll.h has one for the network, and os/descriptor_watch.h one inside that.
//
// A child of fork shares an epoll instance with its parent, so its changes, such as removing a descriptor, would affect
// the parent. So a child closes its copies of both descriptors (forget_in_child).
//
// The functions may change errno. Their callers restore it, and are opaque (T08).
#pragma once

#include "base/atomic.h"
#include "os/lock.h"

#include <cstdint>

namespace thrum::rt::os {

class epoll_instance {
 public:
  // -1: not made yet, or this is a child of fork.
  [[nodiscard]] int fd() const noexcept { return fd_.load(acquire); }  // pairs with open_once
  [[nodiscard]] bool is_open() const noexcept { return fd() >= 0; }

  // Makes both descriptors unless they exist. The eventfd is registered edge-triggered, with this `data`. Then calls
  // last(fd), which returns 0 or an errno, before other threads can see the instance. Returns 0 or the errno. After an
  // error the next call makes another attempt.
  template <class Last>
  [[nodiscard]] int open_once(std::uint64_t notify_data, Last last) noexcept;

  // The eventfd. A write to it ends the present or the next sleep in the instance.
  [[nodiscard]] int notify_fd() const noexcept { return notify_fd_.load(relaxed); }  // published with fd_

  void forget_in_child() noexcept;

 private:
  struct descriptors {
    int fd = -1;
    int notify_fd = -1;
  };
  [[nodiscard]] static int make(std::uint64_t notify_data, descriptors& made) noexcept;
  static void close(descriptors const& all) noexcept;

  os::lock lock_{lock_rank::leaf};
  atomic<int> fd_{-1};  // written under `lock_`, after `notify_fd_`
  atomic<int> notify_fd_{-1};
};

// epoll_ctl. Returns 0 or the errno.
[[nodiscard]] int control_epoll(int instance, int operation, int fd, std::uint32_t events, std::uint64_t data) noexcept;

template <class Last>
int epoll_instance::open_once(std::uint64_t notify_data, Last last) noexcept {
  lock_guard const guard(lock_);
  if (is_open()) return 0;
  descriptors made;
  int error = make(notify_data, made);
  if (error == 0) error = last(made.fd);
  if (error == 0) {
    notify_fd_.store(made.notify_fd, relaxed);  // published by the next store
    fd_.store(made.fd, release);                // pairs with fd
  } else {
    close(made);
  }
  return error;
}

}  // namespace thrum::rt::os
