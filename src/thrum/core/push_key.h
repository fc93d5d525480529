// The right to put a goroutine into a run queue.
//
// Every function that puts a goroutine into a queue takes a push_key, and only sched/runnable.* can make one. So no
// other code can publish a goroutine and forget the store-load or the wake-up that the publication needs. Stealing is
// the exception: run_queue::steal_half_from moves entries from one run queue to another without a key. Afterwards the
// thief wakes the next M (end_spinning_with_work in sched/find_runnable.cpp).
#pragma once

namespace thrum::rt {

class push_key {
 private:
  constexpr push_key() noexcept {}
  friend struct runnable_room;  // sched/runnable.h
  friend struct test_room;      // tests/support/push_key.h
};

}  // namespace thrum::rt
