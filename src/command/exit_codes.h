// The exit codes of the command.
#pragma once

namespace thrum::command {

inline constexpr int fine = 0;
// A trace contradicts its format or is damaged, or a scenario has not come to its end.
inline constexpr int found_faults = 1;
inline constexpr int cannot_work = 2;  // the input cannot be had, or an output cannot be written

}  // namespace thrum::command
