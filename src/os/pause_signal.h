// The signal that asks a thread of ours to pause (T15): taking it into use, sending it, telling ours from others'.
//
// install and remove are for the one that starts and ends the runtime, one at a time.
#pragma once

namespace thrum::rt::os {

// Runs on the thread's signal stack, with this signal blocked; errno is kept around it.
using pause_handler = void (*)(void const* ucontext) noexcept;

// What does not carry our mark goes to the action that was in force before. 0 or the errno; EBUSY: the program has put actions of its
// own over ours again and again, each over a run that left somebody computing.
[[nodiscard]] int install_pause_signal(int signal, pause_handler handler) noexcept;

// As remove_fault_handler. If one may still be on its way to a thread, our action and the handler stay: the default action could end
// the program.
enum class still_sent : bool { no, perhaps };
int remove_pause_signal(still_sent some) noexcept;

// To one thread of this process. False: it is gone, or too many signals wait.
bool send_pause_signal(int tid) noexcept;

// From now on, for good: one after every so much of a CPU that the thread uses, and none while it sleeps. False: it is gone, or the
// kernel has no timer for it. Needs still_sent::perhaps afterwards.
bool keep_sending_pause_signals(int tid) noexcept;

}  // namespace thrum::rt::os
