// Who uses a descriptor (NE-13; Go's fdMutex): a count of users, a lock for each direction and the mark that it was closed, in
// one word (wait/use_word.h). The file behind the descriptor is closed at once, so that its port or name is free again when close returns.
// Its number is given back when the last user leaves, so it cannot be given to another file while a call is under way: until then it
// stands for a file on which every call fails (os::close_but_keep_number).
//
// The owner counts as a user until it closes the descriptor. A call takes a direction's lock and counts, with one compare-and-swap, and
// the same on the way back. If the lock is taken, the call waits, as a user, in the bucket of the side's address, and sets `crowded`. The
// call that ends then hands the lock to the first waiter and gives up only its own share as a user. When the descriptor was closed all
// waiters are woken, and leave.
//
// Calls have their turns in the order in which they came, because the lock stays set while a call waits:
//  - `crowded` is set under the bucket's lock by a call that finds the direction locked, in the same hold in which it enters the queue.
//    It is cleared under that lock with the last waiter.
//  - The lock is cleared by a compare-and-swap that expects `crowded` to be clear, so a waiter that came last of all is seen.
//  - Only when the descriptor was closed, or when no run is alive in which a waiter could go on, both are cleared together.
//
// The record is used again when the descriptor is gone and the owner's handle was dropped, whichever comes last: a handle that
// was closed still names its own record, and calls on it fail.
//
// Runs. The users of a run that is over never leave. The first user in a later run counts anew, with the owner (T12), so a user remembers
// the run in which it came. A thread that thrum did not make is different: it goes on when a run ends, and it may be inside a system call
// with the descriptor. It counts as an *outsider*, in every run. But the end of a run leaves such a thread inside the runtime for good
// if it is there, and then its share has to be forgotten like a goroutine's. So before an outsider enters the runtime all its uses become
// uses of that run (uses_inside_run), and afterwards an outsider's uses again. In between the thread does not touch the descriptor. If
// the run has ended meanwhile and a later one counts anew, the uses are lost, and the call fails.
#pragma once

#include "core/m.h"
#include "core/poll_desc.h"
#include "wait/use_word.h"

#include <cstdint>

namespace thrum::rt {

class poll_use {
 public:
  poll_use() noexcept = default;
  poll_use(poll_use const&) = delete;
  poll_use& operator=(poll_use const&) = delete;

  // For calls that need no order: an option, a deadline. False: it is closed.
  [[nodiscard]] bool begin(poll_desc& d) noexcept;
  void end(poll_desc& d) noexcept;

  // For reading or writing; waits for others who do. False: it is closed. Throws std::logic_error if it would have to wait and no
  // runtime is alive, std::bad_alloc.
  [[nodiscard]] bool begin(poll_desc& d, poll_side_name which);
  void end(poll_desc& d, poll_side_name which) noexcept;

  // A thread from outside was inside the runtime, and meanwhile its run ended and another began. The descriptor must not be touched.
  [[nodiscard]] bool is_lost() const noexcept { return share_ == use_share::none; }

 private:
  friend class uses_inside_run;
  friend bool close_poll_desc(poll_desc& d) noexcept;

  void hold(poll_desc& d, use_share whose, std::uint32_t epoch, use_word outside_flag) noexcept;
  void list() noexcept;
  void unlist() noexcept;
  [[nodiscard]] bool counts_in(use_word seen) const noexcept;
  [[nodiscard]] bool look_at_last_use(poll_side& side) noexcept;
  enum class turn : std::uint8_t { is_mine, is_closed, may_be_taken };
  [[nodiscard]] turn begin_after_others(poll_desc& d, poll_side_name which);
  enum class handing : std::uint8_t { done, none_waits, impossible };
  [[nodiscard]] handing hand_over(poll_side_name which) noexcept;
  void move_into_run(std::uint32_t epoch) noexcept;
  [[nodiscard]] bool move_outside() noexcept;

  poll_desc* d_ = nullptr;
  use_word outside_flag_ = 0;  // of an outsider that has the lock of a direction: held_outside() of that
  std::uint32_t epoch_ = 0;    // the run in which it began, or which it was moved into
  use_share share_ = use_share::none;
  bool is_listed_ = false;    // among its thread's, an outsider
  poll_use* next_ = nullptr;  // in that list
};

// While it lives a thread from outside that uses descriptors may enter the runtime, with the M that it answers. On a goroutine it changes
// nothing.
class [[nodiscard]] uses_inside_run {
 public:
  uses_inside_run() noexcept;
  ~uses_inside_run() { end(); }
  uses_inside_run(uses_inside_run const&) = delete;
  uses_inside_run& operator=(uses_inside_run const&) = delete;

  // nullptr: no run is alive, or the uses could not become uses of the one that is.
  [[nodiscard]] M* callers_m() const noexcept;
  // Outside of the runtime.
  void end() noexcept;

 private:
  poll_use* first_;
  std::uint32_t epoch_ = 0;
};

// The owner's first use, before anybody else knows the record.
void own_poll_desc(poll_desc& d) noexcept;

[[nodiscard]] bool is_closed(poll_desc const& d) noexcept;

// Marks it as closed, wakes all goroutines that wait for it, and gives the owner's share up. False: it was closed before. Never switches,
// unless the program has set SO_LINGER: then closing is a blocking call.
bool close_poll_desc(poll_desc& d) noexcept;

// Whether a call may still be inside the kernel with a file that was closed, and keep it from being free: a moment ago a descriptor was
// closed that was in use.
[[nodiscard]] bool was_closed_in_use_lately() noexcept;

// Closes it if need be; the handle names it no more.
void drop_poll_desc(poll_desc& d) noexcept;

// When a run has ended, and all its goroutines rest: closes what was closed and dropped while they still used it.
void close_what_nobody_names() noexcept;

}  // namespace thrum::rt
