// Profiles of a run, in the format of `go tool pprof`.
//
//   thrum::profile::write_goroutines("goroutines.pprof");   // where all goroutines are at this moment
//   thrum::profile::start_cpu();
//   ...
//   thrum::profile::stop_cpu("cpu.pprof");                  // where they have computed since then
//
//   $ go tool pprof -top cpu.pprof
//
// Each sample has labels: the goroutine's id (`goroutine`), its name (`name`) and the place where it was created
// (`created_at`). docs/profiling.md shows what can be done with them.
//
// Thread safety: every function may be called from any goroutine or thread. goroutines() and start_cpu() throw
// std::logic_error if no runtime is alive. A function that returns a profile looks names up in the debug information,
// which may take some hundred milliseconds. Meanwhile other goroutines run.
//
// A function with a path replaces that file, and throws std::system_error if it cannot be written.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <chrono>
#include <string>

namespace thrum::profile {

// Where every goroutine is, and what it waits for (the label `state`). Stops the world while it notes the stacks: some
// microseconds for each goroutine.
[[nodiscard]] std::string goroutines();
void write_goroutines(std::string const& path);

// Where goroutines and threads compute. Each thread is interrupted after each hundredth of a second of its CPU time,
// and the stack that it is on is noted. Threads that thrum did not make are included. The environment variable
// THRUM_CPUPROFILE=FILE does the same for a whole run.
struct cpu_options {
  int per_second = 100;  // 1 to 1000; the kernel takes at most one sample in each of its ticks
};
// Throws std::logic_error if a CPU profile is being taken already, and std::system_error if the system refuses a thread
// or a timer. The end of the run ends the profile.
void start_cpu(cpu_options const& chosen = {});
// Ends it. Returns an empty text, or false, if no CPU profile is being taken.
std::string stop_cpu();
bool stop_cpu(std::string const& path);

// Where goroutines have waited for each other, and for how long: at channels, selects, locks, joins and the like (the
// label `reason`), but not for timers and the network. Nothing is noted until a rate is set: about one sample for so
// much time of waiting, so that longer waits are always noted. 1 ns notes every wait; 0 turns it off. Returns the rate
// before. Throws std::bad_alloc if there is no memory for the places.
//
// The profile has what was noted since the program began. `go tool pprof -base` shows the difference of two of them.
std::chrono::nanoseconds set_block_rate(std::chrono::nanoseconds waiting_per_sample);
[[nodiscard]] std::string blocks();
void write_blocks(std::string const& path);

// Where a mutex or a shared_mutex was released for which others had waited, and for how long. These are the places that
// hold locks for too long. One wait in `one_in` is noted; 0 turns it off. The rest is as for blocks().
int set_mutex_rate(int one_in);
[[nodiscard]] std::string mutexes();
void write_mutexes(std::string const& path);

}  // namespace thrum::profile
