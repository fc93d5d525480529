// A picture of the machine at this moment: the Ps with their queues, the Ms and some of the goroutines, as a state of
// docs/recording.md.
//
// Nothing is stopped for it. The thread that takes it reads what others change meanwhile, so a goroutine may be seen
// in two places, or in none. The picture has it in the first one, so it is always a valid state.
//
// Its size has a bound whatever the number of goroutines is: it has those that run and those first in the queues, and a
// few for each reason to wait. The members "queued" of a P and "count" of a waiting place say how many there are.
//
// The walks are made in portions of visits_per_hold_max records. Between two portions the lock that they need is free.
#pragma once

#include "core/sched.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace thrum::live {

struct machine_picture {
  int procs = 0;               // in use
  std::size_t queue_size = 0;  // of a P
  // How many records were visited at most while a lock of the scheduler was held.
  std::size_t visits_per_hold = 0;
  std::string state_json;  // an object
};

inline constexpr std::size_t goroutines_of_a_picture_max = 2000;
inline constexpr std::size_t visits_per_hold_max = rt::record_pool::visits_at_once;

// On a thread that is no M, and that the run waits for. Allocates.
[[nodiscard]] machine_picture take_picture(rt::Sched& s);

// {"t":T,"state":...}: a step of a recording.
[[nodiscard]] std::string step_of(machine_picture const& taken, std::int64_t t_ns);
// A recording with this step as its only one.
[[nodiscard]] std::string recording_of(machine_picture const& taken, std::int64_t t_ns);

}  // namespace thrum::live
