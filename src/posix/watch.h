// Waiting for descriptors by number (S25).
//
// Who waits for what is kept in buckets by number. A call that waits stands there from its first wait to its end. For each wait it arms
// its numbers in the watch (os/descriptor_watch.h), and parks on the address of a word of its own (core/wait_table.h), with a time limit
// like any other:
//
//   who waits                                     whoever fetches events (sched/poll.h)
//   1. clears its word                            for each number, under its bucket's lock:
//   2. for each of its descriptors, under the     1. sets the word of all who have it armed for this event, and takes
//      bucket's lock: enters it, if it is the        them out of the wait table: they are runnable
//      first wait; arms the number, for all       2. arms it for those who are left
//      who have it armed
//   3. parks, unless its word is set
//
// The kernel tells at once what is there when a number is armed, so what came before 2 is not lost. A number that was closed and is
// another file's now may tell of the old one, if that lives on under another number: a wake-up for nothing.
//
// Closing. A thread that is inside a call has its file and keeps it; here there is only the number, which may be another file's at the
// next try. So whoever closes it marks all who stand there, also those who are woken already and wait for their thread, and they look
// at the mark before each try. One who enters in between has tried the file that is being closed, and is not marked:
//
//   who waits                                     close
//   1. enters the bucket                          1. marks those who stand there
//   2. arms the number                            2. closes it
//                                                 3. wakes those who have come since: they try again, and see
//
// A full barrier between 1 and 2 there and between 2 and 3 here: either 3 finds the one who came, or he finds the number closed. With
// dup2, where the number is open all the time, those are marked afterwards who stood there before, by their tickets.
//
// close may be called anywhere: on threads of others, which are not to wait for a processor, in handlers, when a thread ends. So it does not
// make runnable those whom it calls. It notes the bucket and rings, and they are woken by whoever polls. It holds the bucket's lock with all
// signals blocked: nobody pauses it, and no handler of its own waits for that lock. Inside the runtime, where its thread may hold the lock, it
// tells nobody.
//
// What is closed behind our back, by stdio for example, marks nobody. But when the number is armed again the kernel says whether it still
// knows it: if not, it is closed or another file's, and all who stand there and were known to the kernel wait for one that is gone. They
// are marked then, at the latest by the first who waits for the new file. Whoever's time is over asks as well, before the last try.
//
// Those who wait in turn have an order, for calls that cannot be tried: the first of them has the number armed, and the others wait until
// those before them have left. They ask the kernel, too: those before may wait for a file that is gone.
//
// A call leaves the buckets under their locks: until then whoever holds one may touch its frame. Those whom a run has left behind stand
// there until somebody meets them (T12).
#pragma once

#include "base/atomic.h"
#include "core/entry.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt {
struct Sched;
}

namespace thrum::posix {

class waiter;

// In which order they came to a bucket.
using ticket = std::uint64_t;

// One descriptor that a call waits for. Lives as long as the call.
struct watch {
  int fd = -1;               // negative: none
  std::uint32_t events = 0;  // as poll(2) names them

  // While the call stood there: that is for good. Written under the lock; relaxed, since nothing follows from it but that the number means
  // something else.
  rt::atomic<bool> was_closed{false};

  // under the lock of its bucket
  waiter* whose = nullptr;  // once it has entered
  watch* before = nullptr;
  watch* next = nullptr;
  ticket its_ticket = 0;
  bool is_in_bucket = false;
  bool is_armed = false;    // and nothing was told since
  bool is_known = false;    // to the kernel, as the file that it waits for
  bool is_called = false;   // by close
  std::uint32_t asked = 0;  // in the first of its number: the events that the kernel was asked for, or more
};

enum class woken : std::uint8_t {
  by_event,  // or for nothing: the call is to be tried
  by_close,  // of one of them
  by_time,
  impossible,  // no memory, or a descriptor that the kernel does not watch: nothing has been waited for
};

// What is done about a descriptor that the kernel does not watch, such as a file's: its state never changes.
enum class unwatched : bool { is_left_out, makes_it_impossible };
enum class standing : bool { together, in_turn };

inline constexpr std::int64_t without_limit = INT64_MAX;

// A call that waits. On a goroutine, in user code, at home.
class waiter {
 public:
  waiter(watch* all, std::size_t count, unwatched what_then, standing how = standing::together) noexcept;
  ~waiter();
  waiter(waiter const&) = delete;
  waiter& operator=(waiter const&) = delete;

  // Until one of them is ready, or the monotonic clock shows deadline_ns.
  [[nodiscard]] woken wait(std::int64_t deadline_ns) noexcept;

  // Of those who wait in turn for the one descriptor this is the first.
  [[nodiscard]] bool has_turn() noexcept;
  // Nobody else stands there for it.
  [[nodiscard]] bool is_alone() noexcept;

 private:
  friend class waiters;
  void enter_if_new(watch& one) noexcept;
  void look_whether_it_is_gone(watch& one) noexcept;
  [[nodiscard]] bool park_until_set(std::int64_t deadline_ns);
  [[nodiscard]] bool any_was_closed() const noexcept;

  rt::Sched& run_;
  std::uint32_t const epoch_;  // the run's
  watch* const all_;
  std::size_t const count_;
  unwatched const what_then_;
  standing const how_;
  bool has_entered_ = false;
  // The word: under the lock of its bucket in the wait table. Where a word begins: other addresses are those of locks (sync/lock_holders.h).
  alignas(8) bool is_set_ = false;
};

// These numbers were closed, or are about to be: those who came to their buckets with `last_ticket` or before are told so, and all others
// who wait for them try again. Anywhere; never switches.
inline constexpr ticket nobody = 0;
inline constexpr ticket everybody = UINT64_MAX;
void say_closed(int first, int last, ticket last_ticket) noexcept;

// Of those who stand in the bucket of this number; `nobody` if there is none.
[[nodiscard]] ticket newest_at(int fd) noexcept;

[[nodiscard]] std::int64_t now_ns() noexcept;

// --- the bell, also for others who wake goroutines from wherever they are (src/posix_locks) ---

// Whether whoever polls hears it; made if it is not there yet. Inside the runtime.
[[nodiscard]] bool has_bell() noexcept;
// f is called by whoever polls, each time that it rang (os::ring_watch_bell), and appends those to be woken to `runnable`.
using when_rung = void (*)(std::uint32_t epoch, rt::g_list& runnable) noexcept;
void at_bell(when_rung f) noexcept;

// Not: where nobody has waited; in a child of vfork, whose memory is the parent's.
[[nodiscard]] bool is_process_of_waiters() noexcept;
// Not: inside the runtime, where the thread may hold locks of buckets.
[[nodiscard]] bool holds_no_bucket() noexcept;

}  // namespace thrum::posix
