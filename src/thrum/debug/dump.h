// The goroutine dump: all goroutines, what each waits for, where each stands and where it was made (S01, DL-14).
//
// It is made in two steps: first everything is noted (debug/goroutine_list.h), and then it is written, with names, in
// one of several forms (debug/dump_form.h). All forms are made from the same notes, stacks and groups.
#pragma once

#include "core/sched.h"
#include "debug/dump_form.h"
#include "debug/dump_output.h"
#include "debug/goroutine_list.h"
#include "debug/symbols.h"

#include <cstdint>

namespace thrum::rt {

// Writes piece by piece. Throws std::bad_alloc; then a part of the dump may have been written.
void write_dump(goroutine_list& all, dump_form form, symbols& known, dump_output& out);

// Prints to standard error, in the form of reports: plainly if no thread can be made to read the names, or if its
// reader takes too long (with_symbols_in_time). In the latter case returns false, and the list has to live as long as
// the program. Blocks the calling thread. May be called inside the runtime.
[[nodiscard]] bool print_goroutines(goroutine_list& all) noexcept;

// Notes goroutines on a thread that is no M, such as that of a debug server. The program goes on afterwards. Stops
// the world for a moment; if that takes more than a second, the list has a remark. The caller sees to it that the run
// does not end meanwhile. write_dump needs no run, but much stack: see debug/symbols.h.
void note_on_thread(Sched& s, goroutine_list& all) noexcept;
// The same for one goroutine alone, by its id, or for none if there is no such goroutine. The world is stopped for a
// time that does not depend on the number of goroutines.
void note_one_on_thread(Sched& s, goroutine_list& all, std::uint64_t id) noexcept;

}  // namespace thrum::rt
