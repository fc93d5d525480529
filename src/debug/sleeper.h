// A goroutine whose thread sleeps in the kernel: the call, and a copy of its stack from which it can be walked afterwards.
//
// Such a thread comes back whenever it likes, and must not be signalled (T04). The kernel tells its stack pointer and program
// counter without disturbing it (os/thread_state.h), and no other register. So its stack cannot be walked where it is: the
// thread may overwrite what the walk is about to follow. What does work is to copy the stack first, from the stack pointer to
// its end, both known and mapped, and then to ask whether the thread has run meanwhile: it has not if it sleeps as before and
// has used no more of a CPU. Then the copy is the stack as it is. This goes for announced calls too: which frames outlive the
// announcement is not known (the constructor of a blocking_scope may stand in a function that has long returned).
#pragma once

#include "arch/stack_walk.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct sleeper {
  // A deeper stack is shown as far as it goes.
  static constexpr std::size_t bytes_max = std::size_t{64} * 1024;

  std::uintptr_t program_counter = 0;  // 0: the thread is not known to sleep, and the rest means nothing
  std::uintptr_t stack_pointer = 0;
  long call = 0;         // its number
  char* copy = nullptr;  // what lies from the stack pointer upwards; nullptr: no memory
  std::size_t bytes = 0;

  [[nodiscard]] bool is_known() const noexcept { return program_counter != 0; }
  // False: that word was not copied.
  [[nodiscard]] bool read(std::uintptr_t address, std::uintptr_t& word) const noexcept;
};

// With nobody able to free the stack `on`. The thread may wake up at any moment. Nothing is allocated but pages for the copy; they
// go back by forget. Descriptors and files are used: not in a signal handler.
[[nodiscard]] sleeper copy_sleeper(int tid, stack_range on) noexcept;
void forget(sleeper& gone) noexcept;

// The word at the address as a return address: without the signature that aarch64 may put into it. 0: it points to no code.
[[nodiscard]] std::uintptr_t return_address_in(std::uintptr_t word) noexcept;

}  // namespace thrum::rt
