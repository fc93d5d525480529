// The part of channels that does not know the element type (S33). Internal: chan.h and select.h are the public face.
//
// What travels through a channel is a *parcel*: the bytes of the element itself when they may simply be copied to another
// place, else a pointer to a box on the heap. So all that happens under a channel's lock is a copy of at most
// parcel_bytes_max bytes: no constructor, no allocation (T01). Boxes are filled and emptied outside, and an element whose
// move throws can do no harm to the channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace thrum::rt {
struct G;
}  // namespace thrum::rt

namespace thrum::detail {

struct channel;

inline constexpr std::size_t parcel_bytes_max = 128;

// A goroutine's place in a channel's queue, and one case of a select. It lives on the stack of the goroutine that waits.
struct channel_waiter {
  // filled in by the caller
  channel* on = nullptr;   // nullptr: the nil channel, which is never ready
  void* parcel = nullptr;  // where it is fetched from, or put
  bool sends = false;

  // while it waits: under the channel's lock
  bool is_select = false;
  bool is_queued = false;
  bool completed = false;  // the parcel has changed hands; false after a wait: the channel was closed
  rt::G* g = nullptr;
  channel_waiter* next = nullptr;
  channel_waiter* previous = nullptr;

  // of a select: entry i of the order in which the cases are locked, and of the one in which they are tried
  std::uint16_t locked_as = 0;
  std::uint16_t tried_as = 0;
};

struct parcel_type {
  std::size_t bytes;
  void (*destroy)(void* parcel) noexcept;  // for one that nobody received; nullptr: nothing to do
};

// Throws channel_error for a capacity that no memory can hold.
[[nodiscard]] channel* make_channel(std::size_t capacity, parcel_type const& type);
void retain_channel(channel* c) noexcept;   // nullptr is fine, here and below
void release_channel(channel* c) noexcept;  // the last one destroys what is left inside

// Both block the goroutine. send throws channel_closed, and the parcel stays the caller's; receive answers false when the
// channel is closed and empty.
void send(channel* c, void* parcel);
[[nodiscard]] bool receive(channel* c, void* parcel);

enum class attempt : std::uint8_t { done, would_block, closed };
[[nodiscard]] attempt try_send(channel* c, void* parcel);
[[nodiscard]] attempt try_receive(channel* c, void* parcel);
// A look without the lock: true only if try_send would have answered would_block.
[[nodiscard]] bool would_block_to_send(channel const* c) noexcept;

void close(channel* c);  // throws channel_closed if it is closed already, or nil
// The same for a channel that several may close, goroutines or threads: nothing happens if it is closed already.
void close_if_open(channel* c);
[[nodiscard]] bool is_closed(channel const* c) noexcept;
[[nodiscard]] std::size_t size(channel const* c) noexcept;
[[nodiscard]] std::size_t capacity(channel const* c) noexcept;

// One case of `count` is carried out: its index. Without any that is ready it waits, for patience_ns at most; nothing came:
// count. The case's `completed` says whether the parcel has changed hands: if not, the channel is closed, and for a sending
// case channel_closed is thrown. std::bad_alloc: there is no memory for the timer.
inline constexpr std::int64_t for_ever_ns = std::numeric_limits<std::int64_t>::max();
[[nodiscard]] std::size_t select(channel_waiter* cases, std::size_t count, std::int64_t patience_ns);

}  // namespace thrum::detail
