// Numbers and durations in a scenario's text.
#pragma once

#include "command/play/scenario.h"
#include "command/play/tokens.h"

#include <chrono>

namespace thrum::command {

// These throw scenario_error if the token is something else, or is out of bounds. `what` names the value in the
// message: "the number of Ps".
[[nodiscard]] int number_in(token const& one, char const* what, int min, int max);
// A whole number with ns, us, ms or s behind it: more than nothing, and at most `max`.
[[nodiscard]] std::chrono::nanoseconds duration_in(token const& one, char const* what, std::chrono::seconds max);

// "x3": how many goroutines. The token may be anything else.
[[nodiscard]] bool is_count(token const& one);
[[nodiscard]] int count_in(token const& one, int min);

// A name that the token may give to something. It begins with a letter or "_".
[[nodiscard]] bool is_name(token const& one);

}  // namespace thrum::command
