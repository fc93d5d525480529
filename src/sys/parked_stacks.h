// The unused depth of stacks whose goroutines have been parked for long goes back to the system (S32, T10); and since when a
// goroutine has waited, at least, is noted for the dump.
//
// A parked goroutine uses its stack from its saved sp upwards. What it once used below that is memory that nobody misses; but
// it may be readied and run at any moment. So sysmon announces which goroutines it looks at, g_attend::scanned, and the M that runs one
// of them waits until sysmon has looked:
//
//   sysmon                                       the waker
//   1. marks them as scanned, a batch            1. status: waiting -> runnable
//   2. a barrier in all threads                  2. scanned? notes it in G::detour (only a compiler barrier in between)
//   3. still waiting? gives back; clears it      3. queues it
//                                                the M that runs it, on g0, if it was noted
//                                                4. waits until it is not scanned; what was noted of its age is void
//
// The waker itself never waits, because it may hold the lock of a channel, and the kernel may take long to give pages back.
//
// A goroutine is waiting on paper a little before it has left its stack. Until then it is some M's current one, then its commit
// step is pending there, then its sp is saved. These are looked at in this order, with a barrier between any two: so the next
// is seen if the last is over.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

class parked_stacks {
 public:
  enum class purpose : bool { ages, depths };  // `depths` notes the ages as well
  parked_stacks(Sched& s, purpose what_for) noexcept : sched_(s), what_for_(what_for) {}

  // Begins to look at all goroutines anew. One that is parked where it was parked the last time loses what is below.
  void begin() noexcept;

  // The next few. False: that was all.
  bool look_at_some() noexcept;

 private:
  Sched& sched_;
  purpose const what_for_;
  slab<G>::walk walk_{};
};

}  // namespace thrum::rt
