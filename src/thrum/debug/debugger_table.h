// What a debugger has to know about the runtime's data: where members are in their records, and what the states are
// called. The debugger reads the process or its core file from outside (share/gdb/thrum-gdb.py).
//
// The table is data of the program, so it describes exactly the library that the program was linked with, and no debug
// information is needed. The compiler fills it in, by offsetof. A debugger finds it by its symbol
// (thrum_debugger_table), or in a stripped program by its section (.thrum_debugger).
//
// docs/decisions/023-a-table-for-debuggers.md has the format and the reasons.
#pragma once

namespace thrum::rt {

struct Sched;

// The run whose goroutines a debugger shows. nullptr: no run is alive. One thread at a time.
void tell_debugger_of(Sched const* run) noexcept;

}  // namespace thrum::rt
