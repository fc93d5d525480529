// What a run leaves behind: goroutines that did not end, and everything that may be referred to after the run.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// All Ms are joined. A goroutine that did not end may have left its address in wait queues, and references into its
// frames elsewhere. A handle may outlive the run. What they point to stays mapped for good. If there are none of these,
// nothing stays mapped.
void keep_referenced_memory(Sched& s) noexcept;

// Threads are left that may touch anything of the run. So it stays for good, where a debugger and a leak checker can
// find it.
void abandon(Sched* s) noexcept;

}  // namespace thrum::rt
