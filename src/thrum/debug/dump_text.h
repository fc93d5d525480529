// The dump as text, in Go's form where Go has one.
#pragma once

#include "debug/dump_output.h"
#include "debug/goroutine_list.h"
#include "debug/stack_groups.h"
#include "debug/symbols.h"

#include <vector>

namespace thrum::rt {

// For each goroutine "goroutine 7 [waiting: chan receive, locked to thread] name:", its frames, and the place where it
// was made. Before them come the cycles of goroutines that wait for each other's locks.
void write_text_of_each(goroutine_list& all, symbols& known, dump_output& out);

// For each group "12 @ 0x1234 0x5678", then the goroutines' state and ids, and then the same as for one goroutine.
void write_text_of_groups(goroutine_list& all, std::vector<stack_group> const& groups, symbols& known,
                          dump_output& out);

// How many goroutines wait at each place, for what and for how long.
void write_text_of_leaks(goroutine_list& all, std::vector<waiting_place> const& places, symbols& known,
                         dump_output& out);

}  // namespace thrum::rt
