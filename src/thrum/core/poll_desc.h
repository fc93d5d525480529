// poll_desc: what the runtime knows of an open descriptor (S25; Go's pollDesc and fdMutex).
//
// The records come from a store of the process that is never unmapped, and they are reused for other descriptors. So an
// event that was fetched before a descriptor was closed may name a record that belongs to another descriptor by the
// time it is handled. Therefore every use of a record has a number, its *generation*, which is part of the events and
// of the readiness words. An event of an older generation changes nothing (NE-14).
//
// The readiness word of a direction is changed by compare-and-swap only. Its values are:
//
//   nothing     no event has come since the word was reset; a goroutine may begin to wait
//   event came  the next goroutine that looks at the word tries its system call
//   arriving    a goroutine is about to park; it has left its stack when the word names it
//   a G         this goroutine waits. The thread that takes it out of the word readies it: for an event, for the
//               deadline, or for close
//
//   waiter, holding the direction's lock       waker
//   1. word: nothing -> arriving               1. an event has come, or it writes `deadline` or `use`'s closed bit
//   2. looks at the deadline and at `use`      2. word: an event -> event came; others: arriving or G -> nothing
//   3. parks; commit: word: arriving -> G      3. if the word was a G: readies it
//      if that fails, continues at once
//
// All of these are seq_cst, so of the two steps 2 at least one sees the other side's step 1. A goroutine that was woken
// looks at the deadline and at `use` once more and retries its call. A needless wake-up costs one system call.
//
// A G whose run has ended stays in the word for good. `epoch` tells it from a G of the run that is alive (T12).
#pragma once

#include "base/atomic.h"
#include "core/g.h"
#include "core/timer_record.h"

#include <cstdint>

namespace thrum::rt {

enum class poll_side_name : std::uint8_t { read, write };

// The word: | generation: 16 bits | payload: 48 bits |
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
// Returns nullptr if the word names no goroutine.
[[nodiscard]] inline G* waiter(poll_word w) noexcept {
  poll_word const p = payload(w);
  return p > arriving ? reinterpret_cast<G*>(static_cast<std::uintptr_t>(p)) : nullptr;
}
}  // namespace poll_words

inline constexpr std::int64_t no_poll_deadline = 0;
inline constexpr std::int64_t poll_deadline_passed = -1;

struct poll_side {
  atomic<poll_word> word{0};
  // written by the goroutine that holds the direction's lock
  atomic<std::uint32_t> epoch{0};  // the run of the G in the word; written before the G is put there
  bool drained = false;       // the last call took everything there was, so a call is pointless until an event comes
  std::uint32_t used_in = 0;  // the run in which `drained` was found out
  // no_poll_deadline, poll_deadline_passed, or a time of the monotonic clock. Written under the timer's lock.
  atomic<std::int64_t> deadline{no_poll_deadline};
  atomic<std::uint32_t> armed_in{0};     // the run in which the timer was set to the deadline
  atomic<timer_record*> timer{nullptr};  // made with the first deadline, and kept for good
};

// How a descriptor is read and written. Only with TCP does a short read or write mean that there is no more at present.
// A Unix stream, for example, ends a read where a descriptor was passed.
enum class poll_kind : std::uint8_t { other, tcp_socket, other_socket };

struct alignas(cache_line_bytes) poll_desc {
  poll_side sides[2];
  // see wait/poll_use.h
  atomic<std::uint64_t> use{0};
  int fd = -1;
  poll_kind kind = poll_kind::other;
  std::uint16_t generation = 0;  // written under the store's lock
  atomic<bool> ended{false};     // an event reported an end or an error, so a short read is no reason to stop trying
  poll_desc* link = nullptr;     // the next free record

  [[nodiscard]] poll_side& side(poll_side_name which) noexcept { return sides[static_cast<std::size_t>(which)]; }
};

}  // namespace thrum::rt
