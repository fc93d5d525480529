// Times in commands, in seconds or milliseconds from the call on.
#pragma once

#include "command.h"
#include "store.h"

#include <string_view>

namespace kv {

enum class time_unit { seconds, milliseconds };
enum class must_last : bool { no, yes };  // yes: a time of zero or less is an error

[[nodiscard]] moment expiry_of(call const& c, std::string_view time, time_unit unit, must_last lasting);

}  // namespace kv
