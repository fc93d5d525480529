// The users of a descriptor (NE-13; Go's fdMutex): a count of users, a lock for each direction and the mark that it was
// closed, in one word (wait/use_word.h). close closes the file behind the descriptor at once, so that its port or name
// is free when close returns. The descriptor's number is given back when the last user leaves, so it cannot be given to
// another file while a call is under way. Until then the number stands for a file on which every call fails
// (os::close_but_keep_number).
//
// The owner counts as a user until it closes the descriptor. A call takes a direction's lock and counts as a user with
// one compare-and-swap, and does the reverse with one compare-and-swap at its end. If the lock is taken, the call
// waits, as a user, in the bucket of the side's address, and sets `crowded`. The call that ends then hands the lock to
// the first waiter and gives up only its own share as a user. When the descriptor is closed, all waiters are woken, and
// leave.
//
// Calls have their turns in the order in which they came, because the lock stays set while a call waits:
//  - `crowded` is set under the bucket's lock by a call that finds the direction locked, in the same hold in which it
//    enters the queue. It is cleared under that lock with the last waiter.
//  - The lock is cleared by a compare-and-swap that expects `crowded` to be clear, so a waiter that comes at the last
//    moment is seen.
//  - Only when the descriptor was closed, or when no run is alive in which a waiter could go on, are both cleared
//    together.
//
// The record is reused when the descriptor is gone and the owner's handle was dropped, whichever comes last. So a
// handle that was closed keeps naming its own record, and calls on it fail.
//
// Runs. The users of a run that is over never leave. The first user in a later run starts a new count, with the owner
// (T12), so a user remembers the run in which it came.
//
// A foreign thread is different. It goes on when a run ends, and it may be inside a system call with the descriptor. So
// it counts as an *outsider*, in every run. But if the end of a run finds such a thread inside the runtime, the thread
// stays there for good, and its share has to be forgotten like that of a goroutine. So before an outsider enters the
// runtime, all its uses become uses of that run (uses_inside_run), and afterwards they become an outsider's uses again.
// In between the thread does not touch the descriptor. If the run has ended meanwhile and a later one has started a new
// count, the uses are lost, and the call fails.
//
// The changes of the word are in wait/use_count.h, the order of calls in wait/poll_turn.cpp, and what the last user
// does in wait/poll_close.cpp.
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

  // For calls that need no order, such as setting an option or a deadline. Returns false if the descriptor is closed.
  [[nodiscard]] bool begin(poll_desc& d) noexcept;
  void end(poll_desc& d) noexcept;

  // For reading or writing. Waits for other calls in the same direction. Returns false if the descriptor is closed.
  // Throws std::logic_error if it would have to wait and no runtime is alive, and std::bad_alloc.
  [[nodiscard]] bool begin(poll_desc& d, poll_side_name which);
  void end(poll_desc& d, poll_side_name which) noexcept;

  // Whether this is the use of a foreign thread that was inside the runtime while its run ended and another run began.
  // The descriptor must not be touched then.
  [[nodiscard]] bool is_lost() const noexcept { return share_ == use_share::none; }

 private:
  friend class uses_inside_run;
  friend bool close_poll_desc(poll_desc& d) noexcept;

  void hold(poll_desc& d, use_share whose, std::uint32_t epoch, use_word outside_flag) noexcept;
  void list() noexcept;
  void unlist() noexcept;
  [[nodiscard]] bool counts_in(use_word seen) const noexcept;
  [[nodiscard]] bool look_at_last_use(poll_side& side) noexcept;
  enum class turn_outcome : std::uint8_t { is_mine, is_closed, may_be_taken };
  [[nodiscard]] turn_outcome begin_after_others(poll_desc& d, poll_side_name which);
  enum class hand_over_outcome : std::uint8_t { done, none_waits, impossible };
  [[nodiscard]] hand_over_outcome hand_over(poll_side_name which) noexcept;
  void move_into_run(std::uint32_t epoch) noexcept;
  [[nodiscard]] bool move_outside() noexcept;

  poll_desc* d_ = nullptr;
  use_word outside_flag_ = 0;  // held_outside() of the direction, if an outsider has the direction's lock
  std::uint32_t epoch_ = 0;    // the run in which it began, or into which it was moved
  use_share share_ = use_share::none;
  bool is_listed_ = false;    // whether it is in the list of its thread's uses; outsiders only
  poll_use* next_ = nullptr;  // in that list
};

// While this object lives, a foreign thread that uses descriptors may enter the runtime, with the M that callers_m
// returns. On a goroutine it changes nothing.
class [[nodiscard]] uses_inside_run {
 public:
  uses_inside_run() noexcept;
  ~uses_inside_run() { end(); }
  uses_inside_run(uses_inside_run const&) = delete;
  uses_inside_run& operator=(uses_inside_run const&) = delete;

  // nullptr: no run is alive, or the uses could not become uses of the run that is alive.
  [[nodiscard]] M* callers_m() const noexcept;
  // The caller is outside of the runtime.
  void end() noexcept;

 private:
  poll_use* first_;
  std::uint32_t epoch_ = 0;
};

// The owner's first use, before any other thread knows the record.
void own_poll_desc(poll_desc& d) noexcept;

[[nodiscard]] bool is_closed(poll_desc const& d) noexcept;

}  // namespace thrum::rt
