// Requests to a P (P::attention), and what the thread that holds the P does about them.
//
// A thread asks all Ps to run a function (sched/safe_point.h) or to stop (sched/world.h). The functions here answer.
// They wake the thread that asked, and nothing else.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

using proc_function = safe_point_round::function;

// At a safe point of p: serves attend::safe_point, that is, runs the function of for_each_proc if p was asked to and
// has not run it yet. The other requests are left alone. Called by the P's owner or, for an idle P, by any thread under
// sched.lock.
void run_requested_function(P& p) noexcept;

// Whether p has to stop.
[[nodiscard]] inline bool is_to_stop(P const& p) noexcept {
  return (p.attention.load(relaxed) & attend::stop_world) != 0;
}

// Under sched.lock: stops p, which the caller holds, if that was asked for. True: p was stopped, and does not belong to
// the caller any more.
[[nodiscard]] bool stop_if_asked_locked(Sched& s, P& p) noexcept;

}  // namespace thrum::rt
