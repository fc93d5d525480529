// Signal stacks, the handler of faults, and signal masks.
//
// A goroutine that overflows its stack faults in the guard. The handler cannot run on that stack, so every M has an
// alternate signal stack. The handler function itself belongs to a higher layer. This file installs it, saves the
// actions that the program had set, and passes on the signals that are not thrum's (T15).
//
// Takes no locks of the runtime and allocates nothing. Only the thread that starts or ends the runtime calls
// install_fault_handler and remove_fault_handler, one call at a time. The functions of the alternate stack concern the
// calling thread only.
#pragma once

#include <cstddef>
#include <cstdint>

#include <signal.h>

// Marks every function that the kernel enters as a signal handler. On x86_64, qemu-user before version 8.2 enters it
// with a stack pointer that is off by 8, so the first aligned SSE store would fault. The attribute adds one instruction
// that aligns the stack pointer.
#if defined(__x86_64__)
#define THRUM_SIGNAL_ENTRY __attribute__((force_align_arg_pointer))
#else
#define THRUM_SIGNAL_ENTRY
#endif

namespace thrum::rt::os {

// The size of an alternate stack, in whole pages. It is 64 KiB for the handler and the handlers that it passes signals
// on to, plus four times the kernel's signal frame, for nested signals. The frame's size is AT_MINSIGSTKSZ, which is
// 2.7 KiB to 11 KiB or more, depending on the vector registers.
[[nodiscard]] std::size_t alt_stack_bytes() noexcept;

// Makes [low, low + bytes) the signal stack of the calling thread. Returns 0 or the errno; ENOMEM means that the stack
// is too small. A thread installs one stack at a time.
int install_alt_stack(char* low, std::size_t bytes) noexcept;

// Restores the signal stack that the calling thread had before install_alt_stack, because a sanitizer or the program
// may have set one. Must be called before the memory of the stack is freed. Returns 0 or the errno; EPERM means that
// the thread is running on the stack.
int remove_alt_stack() noexcept;

// Returns true if the fault has been dealt with, so that the thread returns to the faulting instruction. Returns false
// if the fault is not thrum's. It runs on the alternate stack with the signal blocked, so a fault inside it ends the
// program. Its caller saves and restores errno.
using fault_handler = bool (*)(int signal, siginfo_t* information, void* ucontext);

// Installs the handler for SIGSEGV, and for those of SIGBUS, SIGFPE, SIGILL and SIGABRT whose action is the default
// one. An action of the program for these four stays as it is, so its handler runs on the stack and with the mask that
// it was installed for. SIGSEGV is taken from the program's handler too, because that is how stack overflows are found.
//
// If the handler returns false, the signal goes to the previous action:
// - A handler of the program is called with the signal mask that it asked for.
// - For the default action, SIG_DFL is restored and the fault repeats, so that the core file and the exit status are
//   those of a program without thrum.
//
// If the program sets an action of its own later, that action replaces thrum's. A fault in a guarded call ends that
// call and does not reach the handler (os/guarded_call.h).
//
// Returns 0 or the errno; EALREADY means that a handler is installed. After an error nothing is changed.
int install_fault_handler(fault_handler handler) noexcept;

// Restores the previous actions. Returns 0, also if no handler is installed, or the errno. EBUSY means that the program
// has set a handler of its own on top of thrum's. That handler stays in force, and thrum's stays below it and only
// passes signals on to the previous action. The caller does not have to do anything about EBUSY.
int remove_fault_handler() noexcept;

// Called inside the handler. Whether the program has no handler for this signal, so that the previous action ends the
// program.
[[nodiscard]] bool goes_to_default(int signal) noexcept;

// Ends the process by the default action of this signal, whatever action is in force and whether or not the calling
// thread blocks the signal. May be called in a signal handler.
[[noreturn]] void end_by_signal(int signal) noexcept;

// For the deadline of a report (os/report_deadline.h), also in a signal handler. A signal whose action is thrum's
// handler of faults, or 0 if the program has replaced all of these actions.
[[nodiscard]] int signal_of_fault_handler() noexcept;
// Makes the handler of faults the action of this signal, whatever action is in force.
void put_fault_handler_in_force(int signal) noexcept;

// The set of signals that a thread blocks.
class signal_mask {
 public:
  static signal_mask of_this_thread() noexcept;
  [[nodiscard]] signal_mask without(int signal) const noexcept;  // the same mask, with this signal unblocked
  void apply() const noexcept;
  void apply_to(int signal) const noexcept;  // blocks or unblocks this signal only, as the mask says
  // Whether the calling thread has this mask. The two signals that the C library reserves for itself (32 and 33) are
  // left out of the comparison, because the process that started the program may have blocked them, and no function of
  // the C library can block them. Async-signal-safe. Inside a signal handler the kernel has added the handler's own
  // signal to the thread's mask.
  [[nodiscard]] bool is_in_force() const noexcept;
  // The same for the code that a signal has interrupted. `ucontext` is the third argument of the signal handler. The
  // kernel has added no signal to the mask that is stored there.
  [[nodiscard]] bool was_in_force(void const* ucontext) const noexcept;

 private:
  [[nodiscard]] bool is_same_as(std::uint64_t of_kernel) const noexcept;

  sigset_t blocked_;
};

}  // namespace thrum::rt::os
