// The signal that asks a thread of ours to pause (T15): taking it into use, sending it, telling ours from others'.
//
// install and remove are for the one that starts and ends the runtime, one at a time.
#pragma once

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

// To one thread of this process. False: it is gone; or too many signals wait, and this is one of real time.
bool send_pause_signal(int tid) noexcept;

// From now on, for good: one after every so much of a CPU that the thread uses, and none while it sleeps. False: it is gone, or the
// kernel has no timer for it. Needs still_sent::for_good afterwards.
bool keep_sending_pause_signals(int tid) noexcept;

}  // namespace thrum::rt::os
