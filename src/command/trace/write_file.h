// Writes the files that the options of the command name.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace thrum::command {

// Replaces the file by what write(stream) writes. If that fails, prints why to `errors`, with the name of the command
// before it, and returns false.
[[nodiscard]] bool write_file(std::string_view command, std::string const& path, std::ostream& errors,
                              std::function<void(std::ostream&)> const& write);

}  // namespace thrum::command
