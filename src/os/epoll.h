// The process's one epoll instance, and the bell that breaks a sleep in it (S25).
//
// Made at the first use and kept until the process ends: descriptors outlive runs, and a program that never uses the network
// has neither of the two descriptors. Registration is edge-triggered and for both directions at once, so a descriptor is told
// to the kernel once in its life: whoever waits must have tried first.
//
// The bell is an eventfd, edge-triggered as well: every ring is an event of its own, and nobody needs to read it. It may be
// found by somebody else than the one it was meant for, who then has to pass it on (sched/poll.h).
//
// No function allocates or throws; all may be called with runtime locks held, but poll_wait with a timeout sleeps.
#pragma once

#include <cstdint>

namespace thrum::rt::os {

// What an event says, as bits.
namespace poll_says {
inline constexpr std::uint32_t readable = 1;
inline constexpr std::uint32_t writable = 2;
// An end, an error or urgent data: a read that got less than it asked for does not mean that nothing more will be found.
inline constexpr std::uint32_t ended = 4;
inline constexpr std::uint32_t bell = 8;
inline constexpr std::uint32_t ring = 16;  // there are answers: os/ring.h
}  // namespace poll_says

struct poll_event {
  std::uint64_t data;
  std::uint32_t what;
};

inline constexpr int poll_events_max = 128;  // Go's value: what one look brings at most

// Makes it if it is not there yet. 0 or the errno; after an error the next call tries again.
[[nodiscard]] int open_poll() noexcept;
[[nodiscard]] bool poll_is_open() noexcept;

// `data` comes back with every event. 0 or the errno: EPERM for what cannot be polled, such as a file.
[[nodiscard]] int poll_add(int fd, std::uint64_t data) noexcept;
// The event of the one ring that is open (os/ring.h).
[[nodiscard]] int poll_add_ring(int event) noexcept;
void poll_remove(int fd) noexcept;

// Closes the file behind a number, as dup2 does: the number is the poll's own from then on, which cannot be read or written and is no
// socket, until it is closed. No descriptor is needed for that, so it works when there is none left.
void close_but_keep_number(int fd) noexcept;

// Sleeps until there are events, for `timeout_ns` at most; 0 only looks, -1 is for ever. How many were written to `out`, which
// has room for poll_events_max; 0 also after a signal.
[[nodiscard]] int poll_wait(poll_event* out, std::int64_t timeout_ns) noexcept;

// Ends the present or the next sleep in poll_wait. From any thread, also in a signal handler.
void ring_poll_bell() noexcept;

}  // namespace thrum::rt::os
