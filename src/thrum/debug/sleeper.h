// A goroutine whose thread sleeps in the kernel: the call, and a copy of its stack from which the stack can be walked
// afterwards.
//
// Such a thread may return at any moment, and must not be signalled (T04). The kernel reports its stack pointer and
// program counter without disturbing it (os/thread_state.h), but no other register. The stack cannot be walked in
// place, because the thread may overwrite the words that the walk is about to follow.
//
// So the stack is copied first, from the stack pointer to its end, both of which are known and mapped. Then the thread
// is checked: it has not run meanwhile if it sleeps as before and has used no more CPU time. In this case the copy is
// the stack as it is.
//
// Announced calls are treated in the same way, because it is not known which frames outlive the announcement: the
// constructor of a blocking_scope may be in a function that returned long ago.
#pragma once

#include "arch/stack_walk.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct sleeper {
  // Of a deeper stack only so much is shown.
  static constexpr std::size_t bytes_max = std::size_t{64} * 1024;

  std::uintptr_t program_counter = 0;  // 0: the thread is not known to sleep, and the other fields mean nothing
  std::uintptr_t stack_pointer = 0;
  long call = 0;         // the number of the system call
  char* copy = nullptr;  // the stack from the stack pointer upwards; nullptr: no memory
  std::size_t bytes = 0;

  [[nodiscard]] bool is_known() const noexcept { return program_counter != 0; }
  // Returns false if that word was not copied.
  [[nodiscard]] bool read(std::uintptr_t address, std::uintptr_t& word) const noexcept;
};

// Called while no thread can free the stack `on`. The thread may wake up at any moment. Allocates only pages for the
// copy, which forget gives back. Uses descriptors and files, so it must not be called in a signal handler.
[[nodiscard]] sleeper copy_sleeper(int tid, stack_range on) noexcept;
void forget(sleeper& gone) noexcept;

// Returns the word as a return address, without the signature that aarch64 may put into it. 0: it does not point to
// code.
[[nodiscard]] std::uintptr_t return_address_in(std::uintptr_t word) noexcept;

}  // namespace thrum::rt
