// The frames of a goroutine that sleeps in the kernel, found by libdw in a copy of its stack (debug/sleeper.h).
//
// libgcc's unwinder, which walks all other stacks (arch/stack_walk.h), does not work here, because it reads the stack
// in place and assumes that every register is known. libdw reads through a callback, which answers from the copy or not
// at all. It stops at a frame whose position depends on a register that is not known. This is a register that the
// innermost functions have not saved: on x86_64 rbp, for a caller that keeps a frame pointer; on aarch64 x29 and x30,
// for a call made by a leaf function.
//
// Then the words above are tried as return addresses, and the first one from which the unwind tables lead to the
// goroutine's entry is taken. That word may be an old return address in a variable that was never set, so such frames
// are only a guess, and are reported as one.
//
// This is slow, allocates, and takes much stack: see debug/symbols.h, whose thread does it.
#pragma once

#include "debug/sleeper.h"

#include <cstddef>
#include <cstdint>
#include <vector>

struct Dwfl;  // libdw's

namespace thrum::rt {

// Program counters as walk_stack gives them, innermost first.
struct sleeper_frames {
  static constexpr std::size_t known_max = 48;  // the same as for other goroutines

  std::vector<std::uintptr_t> known;    // contains at least the place of the call
  std::vector<std::uintptr_t> guessed;  // probably their callers; one of them may be missing
  bool is_whole = false;                // the known frames reach the goroutine's entry
};

// `reader` is nullptr if there is no libdw. Then only the place of the call is known.
[[nodiscard]] sleeper_frames frames_of(sleeper const& asleep, Dwfl* reader);

// A fallback: the innermost word that points into the program's code, as in stats::unannounced_calls.
[[nodiscard]] std::vector<std::uintptr_t> guess_caller_in_program(sleeper const& asleep);

}  // namespace thrum::rt
