// Waiting for descriptors by number (S25).
//
// Who waits for what is kept in buckets by number. To wait is to enter them, to arm each number in the watch
// (os/descriptor_watch.h), and to park on the address of a word of one's own (core/wait_table.h), with a time limit like any other:
//
//   who waits, for each of his descriptors        whoever fetches events (sched/poll.h)
//   under the bucket's lock:                      for each number, under its bucket's lock:
//   1. enters it                                  1. sets the word of all who wait for this event, and takes them out of
//   2. arms the number, for all who stand there      the wait table: they are runnable
//   then he parks, unless his word is set         2. arms it for those who are left
//
// The kernel tells at once what is there when a number is armed, so what came before 2 is not lost. A number that was closed and is
// another file's now may tell of the old one, if that lives on under another number: a wake-up for nothing, after which the call finds
// that it must still wait.
//
// One who was woken leaves the buckets, under their locks: until then whoever holds one may touch his frame. Those whom a run has left
// behind stand there until somebody meets them (T12).
#pragma once

#include <cstddef>
#include <cstdint>

namespace thrum::posix {

struct waiter;

// One descriptor that a call waits for. Lives as long as the call.
struct watch {
  int fd = -1;               // negative: none
  std::uint32_t events = 0;  // as poll(2) names them
  // the watch's own
  waiter* whose = nullptr;
  watch* next = nullptr;
  bool is_in_bucket = false;
  bool was_closed = false;  // while it was waited for, by a call of this process
};

enum class woken : std::uint8_t {
  by_event,  // or for nothing: the call is to be tried
  by_close,  // of one of them
  by_time,
  impossible,  // no memory, or a descriptor that the kernel does not watch: nothing has been waited for
};

inline constexpr std::int64_t without_limit = INT64_MAX;

// Until one of them is ready, or the monotonic clock shows deadline_ns. On a goroutine, in user code, at home.
[[nodiscard]] woken wait_for(watch* all, std::size_t count, std::int64_t deadline_ns) noexcept;

// These numbers are closed, or about to be: whoever waits for one of them is woken. Anywhere; never switches.
void wake_for_close(int first, int last) noexcept;

[[nodiscard]] std::int64_t now_ns() noexcept;

}  // namespace thrum::posix
