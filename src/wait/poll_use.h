// Who uses a descriptor (NE-13; Go's fdMutex): a count of users, a lock for each direction and the mark that it was closed, in
// one word. The file behind the descriptor is closed at once, so that its port or name is free again when close returns. Its number is
// given back when the last user leaves, so it cannot be given to another file while a call is under way: until then it
// stands for a file on which every call fails (os::close_but_keep_number).
//
//   | the run: 16 | gone, dropped: 2 | crowded: 2 | locked: 2 | closed: 1 | users: 32 |
//
// The owner counts as a user until it closes the descriptor. A call takes a direction's lock and counts, with one compare-and-swap, and
// the same on the way back; if the lock is taken it waits, as a user, in the bucket of the side's address. `crowded`: a call does. Then the
// call that ends hands the lock and its share as a user to the first of them, without unlocking: so calls have their turns in the order in
// which they came, and each end wakes one. When the descriptor was closed all of them are woken, and leave.
//
// `crowded` is set under the bucket's lock by a call that finds the direction locked, and cleared there with the last waiter, or by
// leave_use, which answers that it was set: so no waiter stays unseen.
//
// The record is used again when the descriptor is gone and the owner's handle was dropped, whichever comes last: a handle that
// was closed still names its own record, and calls on it fail.
//
// Users of a run that is over never leave. The first user in a later run counts anew, with the owner alone (T12); so a user remembers the
// run in which it came.
#pragma once

#include "core/poll_desc.h"

#include <cstdint>

namespace thrum::rt {

class poll_use {
 public:
  // For calls that need no order: an option, a deadline. False: it is closed.
  [[nodiscard]] bool begin(poll_desc& d) noexcept;
  void end(poll_desc& d) noexcept;

  // For reading or writing; waits for others who do. False: it is closed. Throws std::logic_error if it would have to wait and no
  // runtime is alive, std::bad_alloc.
  [[nodiscard]] bool begin(poll_desc& d, poll_side_name which);
  void end(poll_desc& d, poll_side_name which) noexcept;

  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }  // the run it began in

 private:
  std::uint32_t epoch_ = 0;
};

// The owner's first use, before anybody else knows the record.
void own_poll_desc(poll_desc& d) noexcept;

[[nodiscard]] bool is_closed(poll_desc const& d) noexcept;

// Marks it as closed, wakes whoever waits for it, and gives the owner's share up. False: it was closed before. Never switches,
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
