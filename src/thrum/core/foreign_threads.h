// The seats of foreign threads in one run, and the foreign threads that have left it (S38). sys/foreign.h has the
// rules.
//
// The seats are under the lock of the registry of all seats (sys/foreign.cpp). The threads that have left are under
// sched.lock. This class takes no lock.
#pragma once

#include "base/atomic.h"
#include "core/ended_threads.h"
#include "core/g.h"
#include "core/m.h"

#include <utility>

namespace thrum::rt {

// The M and the G of a foreign thread. Its memory is never unmapped.
struct foreign_seat {
  foreign_seat(Sched& of, int number) noexcept : run(&of), m(of, number) {
    m.is_foreign = true;
    m.at_start = m_start::foreign;
  }

  Sched* run;  // nullptr: the seat belongs to no run, or to one that is over
  M m;
  G g;
  M** threads_m = nullptr;        // where the thread keeps its M; nullptr: no thread has the seat
  foreign_seat* next = nullptr;   // in the list of the run's seats
  foreign_seat* spare = nullptr;  // in the list of seats that no thread has
  M* visitor = nullptr;           // the thread's M in an earlier run, whose goroutine visits this run
};

class foreign_threads {
 public:
  // --- seats. Under the lock of the registry ---

  // The run has another seat. It stays in the list until the run ends.
  void add(foreign_seat& seat) noexcept { seat.next = std::exchange(seats_, &seat); }
  // The first seat; the others follow by `next`. The links behind a seat do not change.
  [[nodiscard]] foreign_seat* first() const noexcept { return seats_; }
  // Whether no foreign thread has ever entered the run. A hint; no lock.
  [[nodiscard]] bool none_has_come() const noexcept { return hint_of(seats_) == nullptr; }

  // The thread of this seat has left it, so that another thread can take the seat.
  void release(foreign_seat& seat) noexcept { seat.spare = std::exchange(free_, &seat); }
  // Takes a seat that its thread has left. nullptr: there is none.
  [[nodiscard]] foreign_seat* take_free() noexcept {
    foreign_seat* const seat = free_;
    if (seat != nullptr) free_ = std::exchange(seat->spare, nullptr);
    return seat;
  }
  // The run is about to end. The seats that threads have left go to the registry.
  void forget_free() noexcept { free_ = nullptr; }

  // --- threads that have left. Under sched.lock. The thread maker uses them to find out whether there is a thread that
  // could end a deadlock ---

  ended_threads ended;

 private:
  foreign_seat* seats_ = nullptr;
  foreign_seat* free_ = nullptr;  // linked by `spare`
};

}  // namespace thrum::rt
