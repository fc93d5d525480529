// The comparison of the models as a table, as JSON and as a picture.
#pragma once

#include "command/models/models.h"

#include <string>

namespace thrum::command {

[[nodiscard]] std::string as_table(comparison const& all, job_sizes const& sizes);
[[nodiscard]] std::string as_json(comparison const& all, job_sizes const& sizes);
[[nodiscard]] std::string as_svg(comparison const& all, job_sizes const& sizes);

}  // namespace thrum::command
