// Writes a file in one piece.
#pragma once

#include <string>
#include <string_view>

namespace thrum::rt {

struct file_error {
  int error = 0;          // the errno; 0: the file is written
  char const* call = "";  // what has failed
};

// Replaces the file if it exists. Blocks the thread.
[[nodiscard]] file_error write_whole_file(std::string const& path, std::string_view contents) noexcept;

}  // namespace thrum::rt
