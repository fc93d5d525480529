// The signal that asks a thread of thrum to pause (T15). This file takes a signal number into use, sends the signal,
// and tells thrum's signals from the program's own signals with the same number.
//
// Takes no locks of the runtime and allocates nothing. Only the thread that starts or ends the runtime calls
// install_pause_signal and remove_pause_signal, one call at a time.
#pragma once

#include <cstdint>

namespace thrum::rt::os {

// Runs on the thread's signal stack, with this signal blocked. Its caller saves and restores errno.
using pause_handler = void (*)(void const* ucontext) noexcept;

// Takes the signal number into use. Signals that do not carry thrum's tag go to the previous action. Returns 0 or the
// errno; EBUSY means that the program has put too many actions of its own on top of thrum's.
[[nodiscard]] int install_pause_signal(int signal, pause_handler handler) noexcept;

// Whether a signal may reach a thread after the run has ended. If so, thrum's action stays in force, because the
// default action could end the program.
// - perhaps: thrum's action stays until a later run ends with `no`.
// - for_good: thrum's action stays for the rest of the process.
enum class still_sent : char { no, perhaps, for_good };
// Restores the previous action as remove_fault_handler does, with the same results. Does nothing if signals may still
// be sent.
int remove_pause_signal(still_sent some) noexcept;

// Whether an earlier run has ended with still_sent::for_good for this signal number.
[[nodiscard]] bool pause_signal_is_kept(int number) noexcept;

// Sends the signal to one thread of this process. If a sandbox refuses to send it with thrum's tag, it is sent without
// the tag. From then on, a signal with the same number that the program sends by tgkill or raise counts both as thrum's
// and as the program's. Returns false if the thread has ended, or if too many signals are pending and this is a
// real-time signal.
bool send_pause_signal(int tid) noexcept;

// Sends the signal by a timer on the thread's CPU clock. The kernel checks that clock when its tick finds the thread on
// a CPU, and sends the signal when the thread is about to return to user code (CONFIG_POSIX_CPU_TIMERS_TASK_WORK; older
// kernels send it from the tick). So a thread that sleeps in the kernel gets no signal, and a system call that it has
// begun does not end early with EINTR. In exchange, the signal comes up to one tick later. As a thread_watch keeps its
// descriptor, a pause_timer keeps its timer for the thread that it was used for last.
class pause_timer {
 public:
  pause_timer() noexcept = default;
  ~pause_timer() { close(); }
  pause_timer(pause_timer const&) = delete;
  pause_timer& operator=(pause_timer const&) = delete;

  // Returns false if the thread has ended, if `tid` is 0 (no thread), or if the kernel has no timer for it.
  [[nodiscard]] bool send_at_next_tick(int tid) noexcept;
  // No signal is sent after this.
  void close() noexcept;

 private:
  int tid_ = 0;
  int timer_ = -1;
};

// The interval at which the kernel checks such timers, or 0 if it is not known.
[[nodiscard]] std::int64_t tick_ns() noexcept;

// Makes the kernel send the signal to this thread for the rest of the thread's life: one signal each time the thread
// has used a fixed amount of CPU time, and none while it sleeps. Returns false if the thread has ended, or if the
// kernel has no timer for it. The run must end with still_sent::for_good afterwards.
bool keep_sending_pause_signals(int tid) noexcept;

}  // namespace thrum::rt::os
