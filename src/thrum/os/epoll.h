// The process's epoll instance for the network, and the eventfd that ends a sleep in it (S25).
//
// Both are made at the first use and kept until the process ends, because descriptors outlive runs. A program that
// never uses the network has neither of them.
//
// A descriptor is registered once in its life, edge-triggered and for both directions. So a goroutine must try its read
// or write before it waits.
//
// The eventfd is edge-triggered too. So every notification is an event of its own and no thread needs to read it. The
// event may be found by another thread than the one it was meant for, which then has to pass it on (sched/poll.h).
//
// No function allocates or throws. open_poll takes a lock of rank leaf. All functions may be called with runtime locks
// held, but poll_wait with a timeout sleeps.
#pragma once

#include <cstdint>

namespace thrum::rt::os {

// The meaning of an event, as bits.
namespace poll_says {
inline constexpr std::uint32_t readable = 1;
inline constexpr std::uint32_t writable = 2;
// A hang-up, an error or urgent data. A read that returns less than was asked for does not mean that there is no more
// to read.
inline constexpr std::uint32_t ended = 4;
inline constexpr std::uint32_t notified = 8;
inline constexpr std::uint32_t uring = 16;  // io_uring has answers (os/uring.h)
}  // namespace poll_says

struct poll_event {
  std::uint64_t data;
  std::uint32_t what;
};

inline constexpr int poll_events_max = 128;  // Go's value: the most events that one poll returns

// Makes the instance and the eventfd unless they exist. Returns 0 or the errno. After an error the next call makes
// another attempt.
[[nodiscard]] int open_poll() noexcept;
[[nodiscard]] bool poll_is_open() noexcept;

// Registers a descriptor. `data` comes back with every event. Returns 0 or the errno; EPERM for what cannot be polled,
// such as a file.
[[nodiscard]] int poll_add(int fd, std::uint64_t data) noexcept;
// Registers the eventfd of the one io_uring instance that is open (os/uring.h).
[[nodiscard]] int poll_add_uring(int event) noexcept;
void poll_remove(int fd) noexcept;

// Closes the file behind a descriptor number but keeps the number in use, by a dup3 of the epoll instance to it. Until
// the number is closed, reads, writes and socket calls on it fail. It needs no new descriptor, so it works when the
// process has none left.
void close_but_keep_number(int fd) noexcept;

// Sleeps until there are events, for at most `timeout_ns`. 0 does not sleep, and -1 has no limit. Returns the number of
// events that were written to `out`, which has space for poll_events_max. It returns 0 after the timeout and after a
// signal.
[[nodiscard]] int poll_wait(poll_event* out, std::int64_t timeout_ns) noexcept;

// Ends the present or the next sleep in poll_wait. May be called by any thread, also in a signal handler.
void notify_poller() noexcept;

}  // namespace thrum::rt::os
