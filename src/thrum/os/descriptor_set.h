// A few descriptors that a goroutine waits for together. The set is an epoll instance of its own, which is itself a
// descriptor that can be polled. It is for the descriptors of a library that opens and closes them by itself
// (net/query.h).
//
// All functions return -errno if they fail, and leave errno unchanged (T08). No locks, no allocation.
#pragma once

namespace thrum::rt::os {

struct ready_descriptor {
  int fd;
  bool readable;  // also after a hang-up or an error
  bool writable;  // likewise
};

[[nodiscard]] int open_descriptor_set() noexcept;

// Sets what is waited for at this descriptor. If both are false, the descriptor is removed from the set.
[[nodiscard]] int watch_descriptor(int set, int fd, bool readable, bool writable) noexcept;

// Writes the descriptors that are ready to `out` and returns their number, which is at most `room` and at most 16. Does
// not wait.
[[nodiscard]] int ready_descriptors(int set, ready_descriptor* out, int room) noexcept;

}  // namespace thrum::rt::os
