// A recording (docs/recording.md) made from a trace: the machine (machine.h) after each few records, as JSON.
//
// A recording holds the whole state after each step, so it is made of the beginning of the trace only: of at most
// `steps_max` steps and about `bytes_max` bytes. Goroutines without a record in that time are left out.
#pragma once

#include "command/trace/told_program.h"
#include "command/trace/trace.h"

#include <cstddef>
#include <string>

namespace thrum::command {

inline constexpr std::size_t recording_steps_max = 2000;
inline constexpr std::size_t recording_bytes_max = std::size_t{32} << 20;

struct recording {
  std::string json;
  std::size_t steps = 0;
  bool is_whole = false;  // whether the steps reach to the end of the trace
};

// `title` is what the page shows as the name of the trace.
[[nodiscard]] recording as_recording(trace const& from, std::string const& title,
                                     std::size_t steps_max = recording_steps_max);
// The same for a trace of this program. A step also says which statement each goroutine is at.
[[nodiscard]] recording as_recording(trace const& from, std::string const& title, told_program const& of,
                                     std::size_t steps_max = recording_steps_max);

}  // namespace thrum::command
