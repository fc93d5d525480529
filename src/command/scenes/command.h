// What `thrum scenes` does, without the parsing of its command line.
#pragma once

#include "command/exit_codes.h"
#include "command/scenes/write_recording.h"

#include <iosfwd>

namespace thrum::command {

// Without a file for either, writes the page to thrum-scenes.html.
[[nodiscard]] int run_scenes(recording_files const& files, std::ostream& out, std::ostream& errors);

}  // namespace thrum::command
