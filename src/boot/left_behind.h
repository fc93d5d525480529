// What a run leaves behind: goroutines that did not end, and whatever may still be referred to.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// All Ms are joined. A goroutine that did not end may have left its address in wait queues and references into its frames
// elsewhere; a handle may outlive the run. What they point to stays mapped for good; with all of them gone nothing does.
void leave_behind_what_is_referred_to(Sched& s) noexcept;

// Threads are left that may touch any of it: it stays for good, where a debugger and a leak checker can find it.
void abandon(Sched* s) noexcept;

}  // namespace thrum::rt
