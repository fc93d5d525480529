// options, THRUM_* and the machine, checked and made into the runtime's settings.
#pragma once

#include "core/sched.h"
#include <thrum/run.h>

namespace thrum::rt {

// Throws std::invalid_argument that names the value and the rule.
[[nodiscard]] settings checked_settings(options const& chosen);

}  // namespace thrum::rt
