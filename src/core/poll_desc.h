// poll_desc: what the runtime knows of an open descriptor (S25; Go's pollDesc and fdMutex).
//
// From a store of the process that is never unmapped, and used again for other descriptors: an event that was fetched before
// a descriptor was closed may name a record that belongs to another one by now. So every use of a record has a number, its
// *generation*, which stands in the events and in the readiness words: an old event changes nothing (NE-14).
//
// The readiness word of a direction, changed by compare-and-swap only:
//
//   nothing   no event since the word was reset; a waiter may come
//   event came  whoever looks next tries the call
//   arriving  somebody is about to park: he has left his stack when the next holds
//   a G       somebody waits. Whoever takes him out of the word readies him: an event, the deadline, or close
//
//   waiter, holding the direction's lock       waker
//   1. word: nothing -> arriving               1. makes it so: an event, or `deadline`, or `use`'s closed bit
//   2. looks at the deadline and at `use`      2. word: an event -> event came; others: arriving or G -> nothing
//   3. parks; commit: word: arriving -> G      3. it was a G: readies it
//      if that fails, goes on at once
//
// All of these are seq_cst, so of step 2 on both sides at least one sees the other's step 1. Whoever was woken looks at the
// deadline and at `use` again, and tries his call again: a wake-up for nothing costs one system call.
//
// A G that its run has left behind stands there for good: `epoch` tells it from those of the run that is alive (T12).
#pragma once

#include "base/atomic.h"
#include "core/g.h"
#include "core/timer_record.h"

#include <cstdint>

namespace thrum::rt {

enum class poll_side_name : std::uint8_t { read, write };

// The word: | generation: 16 | the payload: 48 |
using poll_word = std::uint64_t;
namespace poll_words {
inline constexpr unsigned generation_shift = 48;
inline constexpr poll_word payload_mask = (poll_word{1} << generation_shift) - 1;
inline constexpr poll_word nothing = 0;
inline constexpr poll_word event_came = 1;
inline constexpr poll_word arriving = 2;

[[nodiscard]] inline poll_word payload(poll_word w) noexcept { return w & payload_mask; }
[[nodiscard]] inline poll_word with(poll_word w, poll_word payload) noexcept { return (w & ~payload_mask) | payload; }
[[nodiscard]] inline std::uint16_t generation(poll_word w) noexcept {
  return static_cast<std::uint16_t>(w >> generation_shift);
}
[[nodiscard]] inline poll_word naming(G const& g) noexcept { return reinterpret_cast<std::uintptr_t>(&g); }
// nullptr: nobody stands there.
[[nodiscard]] inline G* waiter(poll_word w) noexcept {
  poll_word const p = payload(w);
  return p > arriving ? reinterpret_cast<G*>(static_cast<std::uintptr_t>(p)) : nullptr;
}
}  // namespace poll_words

inline constexpr std::int64_t no_poll_deadline = 0;
inline constexpr std::int64_t poll_deadline_passed = -1;

struct poll_side {
  atomic<poll_word> word{0};
  // by whoever holds the direction's lock
  atomic<std::uint32_t> epoch{0};  // the run of the G in the word: written before it gets there
  bool drained = false;            // the last call took all there was: before an event comes, trying is in vain
  std::uint32_t used_in = 0;       // the run in which that was found out
  // no_poll_deadline, poll_deadline_passed, or a moment of the monotonic clock. Written under the timer's lock
  atomic<std::int64_t> deadline{no_poll_deadline};
  atomic<std::uint32_t> armed_in{0};     // the run in which the timer was set to it
  atomic<timer_record*> timer{nullptr};  // made with the first deadline, kept for good
};

// How a descriptor is read and written. A short read or write means that there is no more now only with TCP: a Unix stream, for
// example, ends a read where a passed descriptor is.
enum class poll_kind : std::uint8_t { other, tcp_socket, other_socket };

struct alignas(cache_line_bytes) poll_desc {
  poll_side sides[2];
  // see wait/poll_use.h
  atomic<std::uint64_t> use{0};
  int fd = -1;
  poll_kind kind = poll_kind::other;
  std::uint16_t generation = 0;  // under the store's lock
  atomic<bool> ended{false};     // an event told of an end or an error: a short read is no reason not to try again
  poll_desc* link = nullptr;     // among the free

  [[nodiscard]] poll_side& side(poll_side_name which) noexcept { return sides[static_cast<std::size_t>(which)]; }
};

}  // namespace thrum::rt
