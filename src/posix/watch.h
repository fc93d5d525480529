// Waiting for descriptors by number (S25).
//
// thrum::posix knows a descriptor only by its number. The calls that wait for a number stand in its bucket, which is a
// list with a lock. A bucket holds the calls of all numbers that are equal modulo 1024. A call enters the buckets of
// its numbers at its first wait and leaves them when it ends. For each wait it arms its numbers in the inner poll
// (os/descriptor_watch.h), that is, it asks the kernel for one event of each. Then it parks on the address of a word of
// its own (core/wait_table.h), with a time limit like any other wait. While it is parked, the call counts in
// Sched::poll, so an M or sysmon polls (sched/poll.h).
//
//   the waiting call                              the thread that fetches events (sched/poll.h)
//   1. clears its word                            for each number with an event, under its bucket's lock:
//   2. for each of its descriptors, under the     1. sets the word of every call that has armed the number for
//      bucket's lock: enters the bucket, if          this event, and takes the call's goroutine out of the wait
//      this is its first wait; arms the number       table
//      for its own events and for those that      2. arms the number for the calls that are left
//      other calls have armed
//   3. parks, unless its word is set
//
// fetch in sched/poll.cpp then makes the goroutines runnable, and send_home sends each to its M.
//
// When a number is armed, the kernel reports at once what is ready, so an event that came before step 2 is not lost. If
// a number was closed and belongs to another file, an event of the old file may come, if that file lives on under
// another number. That is a spurious wake-up.
//
// Closing. A thread that is inside a system call keeps its file even if the descriptor is closed. A call that is parked
// here has only the number, which may belong to another file at the next try. So the thread that closes a number marks
// the calls in the bucket that wait for this number as closed (watch::was_closed), also the calls that are woken
// already and wait for their thread. Each call looks at this flag before every try. A call that enters the bucket later
// has tried the file that is being closed, and is not marked:
//
//   the waiting call                              close
//   1. enters the bucket                          1. marks the calls in the bucket that wait for the number
//   2. arms the number                            2. closes the number
//                                                 3. wakes the calls that have entered since; they try again and fail
//
// There is a full barrier between steps 1 and 2 of the waiting call, and between steps 2 and 3 of close. So either step
// 3 finds the call in the bucket, or the call finds the number closed. With dup2 the number is open all the time. There
// the calls that were in the bucket before dup2 are marked after it, and their tickets tell which calls those are.
//
// close may be called anywhere: on threads that thrum did not make, which must not wait for a P, in signal handlers,
// and when a thread ends. So it does not make the calls runnable itself. It notes the bucket and notifies the inner
// poll, and the thread that polls next wakes the calls. close holds the bucket's lock with all signals blocked, so that
// it is not paused and no signal handler on its own thread waits for that lock. Inside the runtime, where its thread
// may hold the lock, close does nothing here.
//
// A number that is closed by other means, by stdio for example, marks no call. But when the number is armed the next
// time, the kernel says whether it knows the number. If it does not, the number is closed or belongs to another file,
// and all calls for the number that were known to the kernel wait for a file that is gone. They are marked then, at the
// latest by the first call that waits for the new file. A call whose time limit has passed asks the kernel as well,
// before its last try.
//
// Calls that wait in turn (turn_order::in_turn) are served in order. They make system calls that cannot be tried
// without blocking. The first of them has the number armed, and the others wait until those before them have left. They
// ask the kernel too, because the calls before them may wait for a file that is gone.
//
// A call leaves the buckets under their locks, because until then a thread that holds such a lock may access the call's
// stack frame. Calls of a run that is over stay in their buckets until a thread meets them there and drops them (T12).
#pragma once

#include "core/entry.h"
#include "posix/waiting_call.h"

#include <cstddef>
#include <cstdint>

namespace thrum::posix {

enum class watch_outcome : std::uint8_t {
  by_event,  // or spuriously; the call has to be tried
  by_close,  // one of the descriptors was closed
  by_time,
  impossible,  // there is no memory, or the kernel does not watch a descriptor; the call has not waited
};

// What happens if the kernel does not watch a descriptor, such as that of a regular file, whose state never changes.
enum class if_unwatchable : bool { is_left_out, makes_it_impossible };

inline constexpr std::int64_t without_limit = INT64_MAX;

// A call that waits. It is used on a goroutine, in user code, at home (sched/home.h).
class waiter {
 public:
  waiter(watch* all, std::size_t count, if_unwatchable what_then, turn_order how = turn_order::together) noexcept;
  ~waiter();
  waiter(waiter const&) = delete;
  waiter& operator=(waiter const&) = delete;

  // Parks until one of the descriptors is ready, or the monotonic clock shows deadline_ns.
  [[nodiscard]] watch_outcome wait(std::int64_t deadline_ns) noexcept;

  // True if this is the first of the calls that wait in turn for the descriptor. Only for a waiter with one descriptor.
  [[nodiscard]] bool has_turn() noexcept;
  // True if no other call waits for the descriptor. Only for a waiter with one descriptor.
  [[nodiscard]] bool is_alone() noexcept;

 private:
  void enter_if_new(watch& one) noexcept;
  void check_if_closed(watch& one) noexcept;
  [[nodiscard]] bool any_was_closed() const noexcept;

  waiting_call call_;
  watch* const all_;
  std::size_t const count_;
  if_unwatchable const what_then_;
  bool has_entered_ = false;
};

// Says that the numbers from `first` to `last` were closed or are about to be. Calls that wait for one of them and have
// a ticket up to `last_ticket` are marked as closed. All other calls that wait for them are woken and try again. May be
// called anywhere, and does not park.
inline constexpr ticket no_ticket = 0;
inline constexpr ticket every_ticket = UINT64_MAX;
void say_closed(int first, int last, ticket last_ticket) noexcept;

// The newest ticket of the bucket of this number, or `no_ticket` if the bucket is empty.
[[nodiscard]] ticket newest_at(int fd) noexcept;

[[nodiscard]] std::int64_t now_ns() noexcept;

// --- notifications, also for src/posix_locks, which wakes goroutines from any thread ---

// True if the inner poll, by which the thread that polls is notified, exists. Creates it if necessary. Called inside
// the runtime.
[[nodiscard]] bool has_inner_poll() noexcept;
// Sets the function that the thread that polls calls after each notification (os::notify_inner_poll). f appends the
// goroutines to be woken to `runnable`.
using notify_function = void (*)(std::uint32_t epoch, rt::g_list& runnable) noexcept;
void on_notify(notify_function f) noexcept;

// True if a call has waited in this process. False in a child of vfork, which shares the parent's memory.
[[nodiscard]] bool is_process_of_waiters() noexcept;
// False inside the runtime, where the thread may hold the lock of a bucket.
[[nodiscard]] bool holds_no_bucket() noexcept;

}  // namespace thrum::posix
