// A recording as the JSON that docs/recording.md describes.
#pragma once

#include "scenes/recording.h"

#include <string>

namespace thrum::command {

[[nodiscard]] std::string json_of(scenes::recording const& recorded);

}  // namespace thrum::command
