// Gives the unused depth of stacks whose goroutines have been parked for long back to the system (S32, T10). Also notes
// for the dump since when, at least, a goroutine has waited.
//
// A parked goroutine uses its stack from its saved sp upwards. The memory that it once used below that can be given
// back, but the goroutine may be readied and run at any moment. So sysmon announces which goroutines it looks at with
// g_attend::scanned, and the M that runs one of them waits until sysmon has finished with it:
//
//   sysmon                                       the waker
//   1. marks a batch of goroutines as scanned    1. changes the status from waiting to runnable
//   2. makes all threads pass a barrier          2. if the goroutine is scanned, notes that in G::detour (only a
//   3. if the goroutine is still waiting, gives     compiler barrier in between)
//      memory back; clears the mark              3. queues it
//                                                the M that runs it, on g0, if that was noted
//                                                4. waits until the goroutine is not scanned. The age that was noted
//                                                   is void then
//
// The waker itself never waits, because it may hold the lock of a channel, and the kernel may take long to take pages
// back.
//
// The status of a goroutine becomes waiting a little before the goroutine has left its stack. Until then it is first
// the current goroutine of some M, then its commit step is pending on that M, and then its sp is saved. sysmon checks
// these three in this order, with a barrier between any two, so that it sees the next one if the previous one is over.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

class parked_stacks {
 public:
  enum class purpose : bool { ages, depths };  // `depths` notes the ages too
  parked_stacks(Sched& s, purpose what_for) noexcept : sched_(s), what_for_(what_for) {}

  // Begins a new walk over all goroutines. A goroutine that is parked where it was parked at the previous walk loses
  // the memory below.
  void begin() noexcept;

  // Looks at the next few goroutines. Returns false if the walk is complete.
  bool look_at_some() noexcept;

 private:
  Sched& sched_;
  purpose const what_for_;
  record_pool::walk walk_{};
};

}  // namespace thrum::rt
