// The threads of the process, as /proc/self/task lists them, without the kernel's io_uring workers.
//
// No locks, no allocation.
#pragma once

namespace thrum::rt::os {

// Calls visit(tid, argument) for each thread, until it has done so for more than `enough` of them. Returns their
// number, or -1 if the list cannot be read.
int visit_process_threads(int enough, void (*visit)(int tid, void* argument) noexcept, void* argument) noexcept;

// Writes the tids, at most `max`, and returns how many it has written, or -1.
[[nodiscard]] int list_process_threads(int* tids, int max) noexcept;

}  // namespace thrum::rt::os
