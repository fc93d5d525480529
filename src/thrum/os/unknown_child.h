// Recognises a child process that was made inside run() without fork: by _Fork or by the system call clone. The C
// library calls no handler in such a child (core/forked.h), so the child would take the parent's run for its own, and
// wait for threads that do not exist in it.
//
// The sign is a word in a page that the kernel clears for a child that does not share the memory (MADV_WIPEONFORK). It
// is looked at where a thread of the runtime looks for other work and before it sleeps, so the child ends with a report
// instead of hanging. What it does before that is not noticed. Before Linux 4.14 no such child is recognised.
//
// No locks. May be called on any stack and in a signal handler, except where a comment says otherwise.
#pragma once

#include "base/atomic.h"

#include <cstdint>

namespace thrum::rt::os {

// Called when a run begins. Calls mmap for the first run of the process.
void begin_to_recognise_children() noexcept;
// The run is over, or this is a child of fork, which is known to be one.
void cease_to_recognise_children() noexcept;

namespace unknown_child {
extern constinit atomic<atomic<std::uint32_t>*> sign;  // nullptr: no run is alive, or the kernel cannot do it
void end() noexcept;
}  // namespace unknown_child

// Ends the process if it is such a child.
inline void end_if_unknown_child() noexcept {
  atomic<std::uint32_t> const* const sign =
      unknown_child::sign.load(acquire);  // pairs with begin_to_recognise_children
  // relaxed: the child has one thread, which has the parent's memory as it was
  if (sign != nullptr && sign->load(relaxed) == 0) [[unlikely]]
    unknown_child::end();
}

}  // namespace thrum::rt::os
