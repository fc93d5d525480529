// The seam for demonstrations that show the scheduler step by step (docs/scenes.md). An observer is told of each event
// of core/trace.h on the thread on which it happens, and it may hold threads at gates.
//
// A run has no observer unless its main goroutine installs one before it does anything else (trace_state::observe).
// Then an event costs a virtual call, whether or not a trace is written. Without an observer an event costs what it
// costs without a trace, and a gate is one load and one branch, at places that are passed before a search, a look of
// sysmon or the start of a thread.
#pragma once

#include "core/trace_format.h"

#include <array>
#include <cstdint>

namespace thrum::rt {
struct P;
}  // namespace thrum::rt

namespace thrum::rt::trace {

// Where a thread may be held. It holds no lock of the runtime there.
enum class gate : std::uint8_t {
  wake,    // the caller has counted a spinning M, and is about to look for an M and a P (start_spinning_m)
  search,  // an M with a P, on g0, is about to look for a goroutine (find_runnable)
  steal,   // an M that spins has found nothing in its own queues, the global queue and the poller
  look,    // sysmon is about to look at the Ps, at system calls and at the poller
};

// An event as docs/trace-format.md describes it. `p` is the P in whose stream the record would stand; nullptr: it has
// none. Arguments that the record does not have are 0.
struct observed {
  kind what;
  std::uint8_t detail;
  P const* p;
  std::array<std::uint64_t, 3> arguments;
};

class observer {
 public:
  // The caller may hold sched.lock, and its M is inside the runtime. So this function must not allocate, must not use
  // the runtime, and must not wait for a thread that may wait for that lock.
  virtual void saw(observed const& event) noexcept = 0;
  // May wait for as long as it likes. It must not use the runtime.
  virtual void at_gate(gate where) noexcept = 0;

 protected:
  ~observer() = default;
};

}  // namespace thrum::rt::trace
