// The dump as JSON, one goroutine or group in a line. docs/dump.md describes it, and docs/dump.schema.json is its
// schema.
#pragma once

#include "debug/dump_output.h"
#include "debug/goroutine_list.h"
#include "debug/stack_groups.h"
#include "debug/symbols.h"

#include <vector>

namespace thrum::rt {

void write_json_of_each(goroutine_list& all, symbols& known, dump_output& out);
void write_json_of_groups(goroutine_list& all, std::vector<stack_group> const& groups, symbols& known,
                          dump_output& out);
void write_json_of_leaks(goroutine_list& all, std::vector<waiting_place> const& places, symbols& known,
                         dump_output& out);

}  // namespace thrum::rt
