// Checks the options, the THRUM_* variables and the machine, and makes the runtime's settings from them.
#pragma once

#include "core/sched.h"
#include <thrum/run.h>

namespace thrum::rt {

// Throws a std::invalid_argument that names the value and the rule.
[[nodiscard]] settings checked_settings(options const& chosen);

}  // namespace thrum::rt
