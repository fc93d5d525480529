// The signal that asks a thread of ours to pause (T15): taking it into use, sending it, telling ours from others'.
//
// install and remove are for the one that starts and ends the runtime, one at a time.
#pragma once

#include <cstdint>

namespace thrum::rt::os {

// Runs on the thread's signal stack, with this signal blocked; errno is kept around it.
using pause_handler = void (*)(void const* ucontext) noexcept;

// What does not carry our mark goes to the action that was in force before. 0 or the errno; EBUSY: the program has put ever new actions
// of its own over ours.
[[nodiscard]] int install_pause_signal(int signal, pause_handler handler) noexcept;

// As remove_fault_handler. While one may still be on its way to a thread our action stays, since the default one could end the program:
// until a later run ends without that, or for good.
enum class still_sent : char { no, perhaps, for_good };
int remove_pause_signal(still_sent some) noexcept;

// Whether it is in use by an earlier run for good.
[[nodiscard]] bool pause_signal_is_kept(int number) noexcept;

// To one thread of this process. Where a sandbox refuses to send it with our mark, it is sent without: a signal of the program's own that is
// sent by tgkill or raise, with the same number, then counts as ours and as the program's. False: it is gone; or too many signals wait, and this is one of real time.
bool send_pause_signal(int tid) noexcept;

// Sends one by a timer on the thread's CPU clock. The kernel looks at that clock when its tick finds the thread on a CPU, and sends the
// signal when the thread is about to be back in user code (CONFIG_POSIX_CPU_TIMERS_TASK_WORK; older kernels send it from the tick). So a
// thread that sleeps in the kernel gets none, and a system call that it has begun does not end early with EINTR. In exchange the signal
// comes up to a tick later. Like a thread_watch the timer is kept for the thread that it was used for last.
class pause_timer {
 public:
  pause_timer() noexcept = default;
  ~pause_timer() { close(); }
  pause_timer(pause_timer const&) = delete;
  pause_timer& operator=(pause_timer const&) = delete;

  // False: the thread is gone, or the kernel has no timer for it.
  [[nodiscard]] bool send_at_next_tick(int tid) noexcept;
  // No signal is sent after this.
  void close() noexcept;

 private:
  int tid_ = 0;
  int timer_ = -1;
};

// How often the kernel looks at such timers.
[[nodiscard]] std::int64_t tick_ns() noexcept;

// From now on, for good: one after every so much of a CPU that the thread uses, and none while it sleeps. False: it is gone, or the
// kernel has no timer for it. Needs still_sent::for_good afterwards.
bool keep_sending_pause_signals(int tid) noexcept;

}  // namespace thrum::rt::os
