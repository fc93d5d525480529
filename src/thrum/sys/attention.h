// What an M does when it finds a bit in M::attention set on its way into or out of the runtime (core/current.h). These
// are the functions that boot puts into m_hooks. They run on the M's own thread.
//
//   m_attend::pause         preemption has asked the goroutine to pause (sys/preempt.h)
//   offered, being_taken    sysmon is about to take the P, because the thread slept in the kernel (sys/unannounced.h)
//   away                    the M has no P: it is in a system call (sys/blocking.h), or outside (sys/foreign.h)
//   visits                  the M is inside the runtime only for one call, and goes away again at its end
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// m has set its mark. Afterwards it has a P.
void entered_with_attention(M& m) noexcept;
// The same. But if m belongs to a foreign thread and the run is over, returns false, with the mark clear.
[[nodiscard]] bool entered_if_alive(M& m) noexcept;
// The same for exit(), which goes on without a P if the run has ended meanwhile.
void entered_to_exit(M& m) noexcept;
// m has cleared its mark.
void left_with_attention(M& m) noexcept;

}  // namespace thrum::rt
