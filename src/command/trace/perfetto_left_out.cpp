// In place of perfetto.cpp in a build without protobuf.
#include "command/trace/perfetto.h"

namespace thrum::command {

bool has_perfetto() noexcept { return false; }
void write_perfetto(trace const&, std::ostream&) {}

}  // namespace thrum::command
