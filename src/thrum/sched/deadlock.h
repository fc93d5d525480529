// Detecting that no goroutine can ever run again (S20).
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Called with sched.lock held whenever an M goes to sleep. If no M can run by itself (m_pool::none_can_run_by_itself),
// nothing is runnable and no unknown thread could help, it says so, lists the goroutines and ends the program with exit
// code 2.
//
// A thread that the runtime does not know may wake a goroutine, so it prevents the report (T13). The runtime is not
// told when such a thread ends. So if nothing but such a thread is left to help, or if the threads cannot be counted,
// this sets deadlock_state::is_left_open, and sysmon repeats the check from time to time (sys/deadlock_watch.h).
//
// If the program has an ender (core/ender.h), it is the on_panic function or the terminate handler that waits. Then a
// line says so, and the program ends as it would have after that function.
void check_deadlock_locked(Sched& s) noexcept;

}  // namespace thrum::rt
