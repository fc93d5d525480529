// A second epoll instance, the inner poll, for descriptors that are not thrum's own. Calls of the C library wait for
// them (src/posix).
//
// thrum's poller (os/epoll.h) cannot be used for them. It registers a descriptor once and has to know when it is
// closed. The program may close these descriptors without telling thrum, and their numbers may then belong to other
// files. Here a number is registered each time that a goroutine waits for it, for one event (EPOLLONESHOT), and
// level-triggered, so that the present state of the file counts. If the number belongs to another file, the kernel
// treats it as a new one.
//
// The instance is itself a descriptor in thrum's poller, which reports an event with `data` if there are events here.
// It is made at the first use. A child of fork closes it, as it does with the poller's. No function allocates or
// throws. All may be called with runtime locks held, except locks of rank leaf.
//
// A thread outside the runtime can notify the thread that polls here, by an eventfd in the instance. It is
// edge-triggered, so every notification is an event of its own and no thread needs to read it.
#pragma once

#include <cstdint>

namespace thrum::rt::os {

struct watch_event {
  int fd;              // the descriptor, or watch_notified for a notification
  std::uint32_t what;  // the events, as bits of poll(2)
};

inline constexpr int watch_events_max = 64;
inline constexpr int watch_notified = -1;

// Makes the instance unless it exists. Returns 0 or the errno. After an error the next call makes another attempt.
[[nodiscard]] int open_watch(std::uint64_t data) noexcept;

struct watch_answer {
  int error;    // 0 or the errno; EPERM for what is always ready, such as a file
  bool is_new;  // the file behind this number was not registered
};

// Asks for the next of these events. An event that has already occurred is reported at once.
[[nodiscard]] watch_answer watch_descriptor(int fd, std::uint32_t events) noexcept;

// Writes the events to `out`, which has space for watch_events_max, and returns their number. Does not wait.
[[nodiscard]] int take_watch_events(watch_event* out) noexcept;

// Notifies the next thread that polls, which takes the event. Async-signal-safe. Does nothing if there is no instance.
void notify_inner_poll() noexcept;

}  // namespace thrum::rt::os
