// A second epoll instance, for descriptors that are not thrum's own: calls of the C library wait for them (src/posix).
//
// thrum's poll cannot have them. It is told of a descriptor once in its life and must know when that ends; these may be closed behind
// our back, and their numbers be other files' by now. Here a number is told to the kernel each time that somebody waits for it, for one
// event (EPOLLONESHOT, and as the file is then: level-triggered). If it is another file, it is simply new.
//
// The instance is itself a descriptor of thrum's poll, which says with `data` that there are events here. Made at the first use; a
// child of fork forgets it, as it does the poll. No function allocates or throws; all may be called with runtime locks held but leaves.
//
// Whoever is outside of the runtime can ring a bell here: an eventfd in the instance, edge-triggered, so that every ring is an event of
// its own and nobody needs to read it.
#pragma once

#include <cstdint>

namespace thrum::rt::os {

struct watch_event {
  int fd;              // watch_bell: it rang
  std::uint32_t what;  // as poll(2) says it
};

inline constexpr int watch_events_max = 64;
inline constexpr int watch_bell = -1;

// Makes it if it is not there yet. 0 or the errno; after an error the next call tries again.
[[nodiscard]] int open_watch(std::uint64_t data) noexcept;

struct watch_answer {
  int error;    // 0 or the errno: EPERM for what is always ready, such as a file
  bool is_new;  // the kernel did not know this number, or as another file's
};

// The next of these events will be told, and those that are there already.
[[nodiscard]] watch_answer watch_descriptor(int fd, std::uint32_t events) noexcept;

// Without waiting. How many were written to `out`, which has room for watch_events_max.
[[nodiscard]] int take_watch_events(watch_event* out) noexcept;

// Somebody will take its event: whoever polls next. Async-signal-safe; nothing happens where there is no instance.
void ring_watch_bell() noexcept;

}  // namespace thrum::rt::os
