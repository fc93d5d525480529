// Signal stacks and the handler of faults.
//
// A goroutine that overflows its stack faults on the guard; the handler must then run elsewhere, so every M
// has an alternate stack. The handler itself belongs to a higher floor; here is what surrounds it:
// installing, keeping what the program had installed, and passing on what is not ours (T15).
//
// install_* and remove_* of the fault handler are for the one that starts and ends the runtime, one at a
// time; the alternate stack is a matter of the calling thread.
#pragma once

#include "arch/stack_walk.h"

#include <cstddef>
#include <cstdint>

#include <signal.h>

// For every function that the kernel enters as a signal handler. qemu-user before 8.2 does so with a stack
// pointer that is off by 8 on x86_64, and the first aligned SSE store faults; one instruction puts it right.
#if defined(__x86_64__)
#define THRUM_SIGNAL_ENTRY __attribute__((force_align_arg_pointer))
#else
#define THRUM_SIGNAL_ENTRY
#endif

namespace thrum::rt::os {

// The room an alternate stack needs: 64 KiB for the handler and those it passes on to, and four times the
// kernel's own frame (AT_MINSIGSTKSZ: 2.7 KiB to 11 KiB and more, by the vector registers), for nested
// signals. In whole pages.
[[nodiscard]] std::size_t alt_stack_bytes() noexcept;

// Makes [low, low + bytes) the signal stack of the calling thread. 0 or the errno (ENOMEM: too small). One at
// a time.
int install_alt_stack(char* low, std::size_t bytes) noexcept;

// Gives the calling thread back what it had before install_alt_stack (a sanitizer or the program may have set
// one); call it before the memory goes. 0 or the errno (EPERM: running on it).
int remove_alt_stack() noexcept;

// True: the fault is dealt with, return to where it happened. False: it is somebody else's. Runs on the
// alternate stack with the signal blocked: a fault inside it ends the program. errno is kept around it.
using fault_handler = bool (*)(int signal, siginfo_t* information, void* ucontext);

// For SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT. What it answers false to goes to the action that was in force before: a handler is
// called with the mask it had asked for; for the default action SIG_DFL is restored and the fault repeats, so
// that the core file and the exit status are those of a program without thrum. 0 or the errno; EALREADY when
// one is installed; on an error nothing is changed.
int install_fault_handler(fault_handler handler) noexcept;

// Restores the previous actions. Where the program has put a handler on top of ours since, that one stays,
// and ours remains below it as a mere link to the one before: EBUSY, which needs no action. 0 also when none
// is installed.
int remove_fault_handler() noexcept;

// Inside the handler: whether the action that was in force before ends the program, since no handler of the program's is there.
[[nodiscard]] bool goes_to_default(int signal) noexcept;

// Which signals a thread does not take.
class signal_mask {
 public:
  static signal_mask of_this_thread() noexcept;
  [[nodiscard]] signal_mask without(int signal) const noexcept;  // one that takes this one
  void apply() const noexcept;
  void apply_to(int signal) const noexcept;  // only as to this one
  // Whether the calling thread has it now, but for the two signals that the C library keeps for itself: whoever started the program may
  // have them blocked, and no call of the C library's does so again. Async-signal-safe; inside a handler the kernel has added its signal.
  [[nodiscard]] bool is_in_force() const noexcept;
  // The same for the code that a signal has interrupted, from the third argument of its handler: there the kernel has added nothing.
  [[nodiscard]] bool was_in_force(void const* ucontext) const noexcept;

 private:
  [[nodiscard]] bool is_same_as(std::uint64_t of_kernel) const noexcept;

  sigset_t blocked_;
};

// Whether the interrupted code was a signal handler that runs on the thread's signal stack.
[[nodiscard]] bool was_on_signal_stack(void const* ucontext) noexcept;

// Where the interrupted code was, from the third argument of a signal handler.
[[nodiscard]] std::uintptr_t stack_pointer_of(void const* ucontext) noexcept;
// Whether the instruction before this one, which must be code of the C library, makes a system call: then the thread was interrupted on
// its way out of one.
[[nodiscard]] bool is_behind_a_system_call(std::uintptr_t program_counter) noexcept;
[[nodiscard]] std::uintptr_t program_counter_of(void const* ucontext) noexcept;

// All general registers of the interrupted code: its stack can be walked from them.
[[nodiscard]] stack_registers interrupted_registers(void const* ucontext) noexcept;

}  // namespace thrum::rt::os
