// The store of poll_descs, and what events do to them. Passive: it returns who is to be readied, and wakes nobody.
#pragma once

#include "core/entry.h"
#include "core/poll_desc.h"
#include "os/epoll.h"

#include <cstdint>

namespace thrum::rt {

// A record for this descriptor, of a new generation; nullptr when no memory can be had. Any lock may be held but leaves.
[[nodiscard]] poll_desc* take_poll_desc(int fd, poll_kind kind) noexcept;
// Nobody uses it any more. Events may still be under way.
void free_poll_desc(poll_desc& d) noexcept;

// The first record for which this is so. Under the store's lock.
[[nodiscard]] poll_desc* find_poll_desc(bool (*is_meant)(poll_desc const& d) noexcept) noexcept;

// What the kernel is told to say with the descriptor's events.
[[nodiscard]] std::uint64_t poll_data_of(poll_desc const& d) noexcept;

// Takes the waiter of this run out of a word, if there is one, and leaves the word empty: for close and deadlines. One of another
// run is left alone; one who is about to park finds out by himself.
[[nodiscard]] G* take_poll_waiter(poll_side& side, std::uint32_t epoch) noexcept;

// Whether the bell was among them. Those who waited in this run for what came are appended to `runnable`, still waiting.
enum class bell : bool { silent, rang };
bell take_events(os::poll_event const* events, int count, std::uint32_t epoch, g_list& runnable) noexcept;

// Another poll inside this one, of a library above (src/posix): what its descriptor's events say, and who fetches its own. He appends to
// `runnable`, as take_events does.
inline constexpr std::uint64_t inner_poll_data = std::uint64_t{1} << 16U;  // no record's: those are multiples of 64
using inner_poll = void (*)(std::uint32_t epoch, g_list& runnable) noexcept;
void set_inner_poll(inner_poll fetch) noexcept;

}  // namespace thrum::rt
