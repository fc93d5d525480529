// The part of channels that does not depend on the element type (S33). Internal: the public headers are chan.h and
// select.h.
//
// A channel moves *parcels*. A parcel is the bytes of the element itself if they may simply be copied, otherwise a
// pointer to a box on the heap. So under a channel's lock at most parcel_bytes_max bytes are copied, and there is no
// constructor call and no allocation (T01). Boxes are filled and emptied outside of the lock, so an element whose move
// constructor throws cannot damage the channel.
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

// The place of a goroutine in a channel's queue, and one case of a select. It lives on the stack of the waiting
// goroutine.
struct channel_waiter {
  // filled in by the caller
  channel* on = nullptr;   // nullptr: the nil channel, which is never ready
  void* parcel = nullptr;  // the parcel is read from here, or written to here
  bool sends = false;

  // valid while the goroutine waits; under the channel's lock
  bool is_select = false;
  bool is_queued = false;
  bool completed = false;  // the parcel was moved; if this is false after a wait, the channel was closed
  rt::G* g = nullptr;
  channel_waiter* next = nullptr;
  channel_waiter* previous = nullptr;

  // For a select: entry i of the order in which the cases are locked, and of the order in which they are tried.
  std::uint16_t locked_as = 0;
  std::uint16_t tried_as = 0;
};

struct parcel_type {
  std::size_t bytes;
  void (*destroy)(void* parcel) noexcept;  // for a parcel that was never received; nullptr: nothing to do
};

// Throws channel_error for a capacity that no memory can hold.
[[nodiscard]] channel* make_channel(std::size_t capacity, parcel_type const& type);
void retain_channel(channel* c) noexcept;   // nullptr is allowed, here and below
void release_channel(channel* c) noexcept;  // the last release destroys the elements that are left

// Both block the goroutine. send throws channel_closed, and the parcel then remains the caller's. receive returns false
// if the channel is closed and empty.
void send(channel* c, void* parcel);
[[nodiscard]] bool receive(channel* c, void* parcel);

enum class attempt : std::uint8_t { done, would_block, closed };
[[nodiscard]] attempt try_send(channel* c, void* parcel);
[[nodiscard]] attempt try_receive(channel* c, void* parcel);
// Checks without the lock. Returns true only if try_send would have returned would_block.
[[nodiscard]] bool would_block_to_send(channel const* c) noexcept;

void close(channel* c);  // throws channel_closed if the channel is closed already or nil
// The same for a channel that several goroutines or threads may close: does nothing if it is closed already.
void close_if_open(channel* c);
[[nodiscard]] bool is_closed(channel const* c) noexcept;
[[nodiscard]] std::size_t size(channel const* c) noexcept;
[[nodiscard]] std::size_t capacity(channel const* c) noexcept;

// Carries out one of `count` cases and returns its index. If no case is ready it waits, for at most patience_ns, and
// returns `count` if no case became ready. `completed` of the chosen case says whether the parcel was moved. If it was
// not, the channel is closed; for a sending case, channel_closed is thrown. Throws std::bad_alloc if there is no memory
// for the timer.
inline constexpr std::int64_t for_ever_ns = std::numeric_limits<std::int64_t>::max();
[[nodiscard]] std::size_t select(channel_waiter* cases, std::size_t count, std::int64_t patience_ns);

}  // namespace thrum::detail
