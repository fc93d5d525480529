// The lines of our source that the scenes show. The files are part of the program (embedded by CMake), and functions
// are found in them by name, so the lines are those from which the program was built.
#pragma once

#include "scenes/recording.h"

#include <string_view>

namespace thrum::scenes {

// Throws std::logic_error if the file is not embedded (THRUM_SCENE_SOURCES in CMakeLists.txt), or if it does not define
// the function exactly as expected: a definition begins in a line with the name and an opening parenthesis, and ends in
// a line with a closing brace at the same indentation.
[[nodiscard]] source_lines function_in(std::string_view file, std::string_view function);

}  // namespace thrum::scenes
