// Whether a goroutine stands in a function that the C library or its kin has called, or in one that such a function has called.
//
// The C library calls functions of the program with its locks held: the loader calls constructors, dl_iterate_phdr and pthread_once
// their arguments, stdio the functions of fopencookie. A thread that is stopped there for good keeps the lock, and the program's
// end waits for it (T03). The program counter does not tell, so the stack is walked. That takes some microseconds, and is done at
// the end of a run only: a goroutine that is paused for a slice goes on later.
//
// Without _dl_find_object (glibc before 2.35) the walk itself would need the loader's lock. There the answer is no.
#pragma once

#include "arch/stack_walk.h"
#include "core/sched.h"

namespace thrum::rt {

// Malloc is linked into the program, so a thread may be in it wherever it is, and options::stop_beside_own_malloc does not say that
// this is no matter.
[[nodiscard]] bool malloc_cannot_be_told(Sched const& s) noexcept;

// `from` are the registers with which g stands still. In a signal handler, too, on the thread of g or on another one.
[[nodiscard]] bool has_frames_of_libc(G const& g, stack_registers const& from) noexcept;

}  // namespace thrum::rt
