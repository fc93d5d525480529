// A few descriptors that somebody waits for together: an epoll instance of their own, which is itself a descriptor that can be
// polled. For those of a library that opens and closes them as it likes (net/query.h).
//
// All answer -errno where they fail; errno itself stays as it was (T08).
#pragma once

namespace thrum::rt::os {

struct ready_descriptor {
  int fd;
  bool readable;  // also for an end or an error
  bool writable;
};

[[nodiscard]] int open_descriptor_set() noexcept;

// What is waited for from now on; neither: the descriptor leaves the set.
[[nodiscard]] int watch_descriptor(int set, int fd, bool readable, bool writable) noexcept;

// How many of them are ready, without waiting; the first ones are written to `out`.
[[nodiscard]] int ready_descriptors(int set, ready_descriptor* out, int room) noexcept;

}  // namespace thrum::rt::os
