// The store of poll_descs, and the effect of events on them. Passive: it returns the goroutines that are to be readied
// and wakes none of them.
#pragma once

#include "core/entry.h"
#include "core/poll_desc.h"
#include "core/slab.h"
#include "os/epoll.h"

#include <cstdint>

namespace thrum::rt {

// Returns a record of a new generation for this descriptor, or nullptr if there is no memory. The caller may hold any
// lock except those of rank leaf.
[[nodiscard]] poll_desc* take_poll_desc(int fd, poll_kind kind) noexcept;
// Gives back a record that no goroutine uses. Events for it may be under way.
void free_poll_desc(poll_desc& d) noexcept;

// Returns the first record for which is_meant(record, argument) is true. Calls is_meant under the store's lock.
[[nodiscard]] poll_desc* find_poll_desc(bool (*is_meant)(poll_desc const& d, std::uint32_t argument) noexcept,
                                        std::uint32_t argument) noexcept;

// Where all records are, for the debugger, which reads them while the process is stopped.
[[nodiscard]] slab<poll_desc> const& all_poll_descs() noexcept;

// The word that the kernel is told to deliver with the descriptor's events.
[[nodiscard]] std::uint64_t poll_data_of(poll_desc const& d) noexcept;

// Takes the waiter of this run, if there is one, out of a word and leaves the word empty: for close and deadlines. A
// waiter of another run is left alone. A goroutine that is about to park finds out by itself, because its commit fails.
[[nodiscard]] G* take_poll_waiter(poll_side& side, std::uint32_t epoch) noexcept;

// Applies the events. Appends the goroutines of this run that waited for them to `runnable`; their status is still
// waiting. Returns whether a notification of the poller was among the events.
enum class poll_notified : bool { no, yes };
poll_notified take_events(os::poll_event const* events, int count, std::uint32_t epoch, g_list& runnable) noexcept;

// The inner poll: a second epoll instance inside this one, which a library above (src/posix) uses. inner_poll_data is
// the word that its descriptor's events carry. It differs from the data of every record, because records are aligned to
// 64 bytes. The function `fetch` fetches its events and appends to `runnable`, as take_events does.
inline constexpr std::uint64_t inner_poll_data = std::uint64_t{1} << 16U;
using inner_poll = void (*)(std::uint32_t epoch, g_list& runnable) noexcept;
void set_inner_poll(inner_poll fetch) noexcept;

}  // namespace thrum::rt
