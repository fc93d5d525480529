// The names of the files that environment variables name for what a run writes: traces and profiles.
#pragma once

#include "base/atomic.h"

#include <string>
#include <string_view>

namespace thrum::rt {

// In `pattern` %p stands for the number of the process, and %% for a percent sign. All else stays as it is. The second
// file of the process has ".2" behind its name, and so on; `files` counts them.
[[nodiscard]] std::string file_of_run(std::string_view pattern, atomic<int>& files);

}  // namespace thrum::rt
