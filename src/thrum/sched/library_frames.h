// Whether a goroutine is in a function that the C library or its kin has called, directly or through other functions.
//
// The C library calls functions of the program with its locks held: the loader calls constructors, dl_iterate_phdr and
// pthread_once call their arguments, and stdio calls the functions of fopencookie. A thread that is stopped there for
// good keeps the lock, and the end of the program waits for it (T03). The program counter does not show this, so the
// stack is walked. That takes some microseconds. It is done only at the end of a run, because a goroutine that is
// paused for a slice goes on later.
//
// Without _dl_find_object (glibc before 2.35) the walk itself would need the loader's lock. There the answer is no.
#pragma once

#include "arch/stack_walk.h"
#include "core/sched.h"

namespace thrum::rt {

// Whether malloc is linked into the program, so that a thread may be inside malloc wherever it is, and
// options::stop_beside_own_malloc does not allow stopping it nevertheless.
[[nodiscard]] bool malloc_cannot_be_told(Sched const& s) noexcept;

// `from` are the registers with which g has stopped. May be called in a signal handler, on g's thread or on another
// one.
[[nodiscard]] bool has_frames_of_libc(G const& g, stack_registers const& from) noexcept;

}  // namespace thrum::rt
