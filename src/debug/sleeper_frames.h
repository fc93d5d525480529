// The frames of a goroutine that sleeps in the kernel, found by libdw on the copy of its stack (debug/sleeper.h).
//
// libgcc's unwinder, which walks all other stacks (arch/stack_walk.h), reads where the stack is and takes every register for
// known. libdw reads through a function of ours, which answers from the copy or not at all, and stops at a frame whose place
// hangs on a register that is not known. That is one that the innermost functions have not saved: on x86_64 rbp, for a caller
// that keeps a frame pointer; on aarch64 x29 and x30, for a call made by a function that calls nobody else. Then the words above
// are tried as return addresses, and the first from which the unwind tables lead to the goroutine's entry is taken. It may be an
// old one in a variable that was never set, so what is found that way is only a guess, and called one.
//
// Slow, allocates, and takes much stack: see debug/symbols.h, whose thread does this.
#pragma once

#include "debug/sleeper.h"

#include <cstddef>
#include <cstdint>
#include <vector>

struct Dwfl;  // libdw's

namespace thrum::rt {

// Program counters as walk_stack gives them, innermost first.
struct sleeper_frames {
  static constexpr std::size_t known_max = 48;  // as of other goroutines

  std::vector<std::uintptr_t> known;    // at least where the call was made
  std::vector<std::uintptr_t> guessed;  // who called them, perhaps; one of them may be left out
  bool is_whole = false;                // the known ones go up to the goroutine's entry
};

// `reader` is nullptr where there is no libdw: then nothing but the place of the call is known.
[[nodiscard]] sleeper_frames frames_of(sleeper const& asleep, Dwfl* reader);

// Where nothing better is to be had: the innermost word that points into the program's code, as in stats::unannounced_calls.
[[nodiscard]] std::vector<std::uintptr_t> guess_caller_in_program(sleeper const& asleep);

}  // namespace thrum::rt
