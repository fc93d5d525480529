// What `thrum play` does, without the parsing of its command line.
#pragma once

#include "command/exit_codes.h"
#include "command/scenes/write_recording.h"

#include <iosfwd>
#include <string>

namespace thrum::command {

struct play_options {
  std::string file{};         // the scenario; "-": standard input
  recording_files written{};  // without any, writes the page to thrum-play.html
};
// Returns found_faults if the scenario has not come to its end: because of a deadlock, of a limit, or of a goroutine
// that has made a mistake. The files are written then as well.
[[nodiscard]] int run_play(play_options const& options, std::istream& in, std::ostream& out, std::ostream& errors);

}  // namespace thrum::command
