// Writes a recording and the page that plays it, as `thrum scenes` and `thrum play` do.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace thrum::command {

struct recording_files {
  std::string page{};  // the file for the page; empty: there is none
  std::string json{};  // the file for the recording; "-": standard output; empty: there is none
};

// `command` is "thrum scenes". Without a file for either, writes the page to `usual_page`. `what` begins the sentence
// that names the page: "The scenes are". Returns an exit code.
[[nodiscard]] int write_recording(std::string_view command, recording_files const& files, std::string const& usual_page,
                                  std::string const& json, std::string_view what, std::ostream& out,
                                  std::ostream& errors);

}  // namespace thrum::command
