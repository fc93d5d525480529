// `thrum top` on the terminal, with ncurses.
#pragma once

#include "command/top/source.h"

namespace thrum::command {

// Returns the exit code when the user ends it. Throws target_error if the process does not answer any more, if standard
// output is no terminal, or if the command was built without ncurses.
[[nodiscard]] int show_on_terminal(top_source& source, double seconds);

}  // namespace thrum::command
