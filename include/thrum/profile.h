// Profiles of a run, in the format of `go tool pprof`.
//
//   thrum::profile::write_goroutines("goroutines.pprof");   // where all goroutines are at this moment
//
//   $ go tool pprof -top goroutines.pprof
//
// Each sample has labels: the goroutine's id (`goroutine`), its name (`name`) and the place where it was created
// (`created_at`). docs/profiling.md shows what can be done with them.
//
// Thread safety: every function may be called from any goroutine or thread. They throw std::logic_error if no
// runtime is alive. A function that returns a profile looks names up in the debug information,
// which may take some hundred milliseconds. Meanwhile other goroutines run.
//
// A function with a path replaces that file, and throws std::system_error if it cannot be written.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <string>

namespace thrum::profile {

// Where every goroutine is, and what it waits for (the label `state`). Stops the world while it notes the stacks: some
// microseconds for each goroutine.
[[nodiscard]] std::string goroutines();
void write_goroutines(std::string const& path);

}  // namespace thrum::profile
