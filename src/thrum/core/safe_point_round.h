// A function that has to run once on every P, at its next safe point (sched/safe_point.h).
//
// The thread that begins a round has the right to stop the world (core/world_stop.h), so there is one round at a time.
// It begins the round, then sets attend::safe_point for every P, and sleeps until the round is over. The owner of a P,
// or the beginner if the P is idle, clears that bit and runs the function. So each P runs it exactly once.
#pragma once

#include "base/atomic.h"
#include "os/note.h"

#include <cstdint>

namespace thrum::rt {

struct P;

class safe_point_round {
 public:
  using function = void (*)(P& p, void* argument) noexcept;

  // relaxed: published when the caller sets attend::safe_point, with release
  void begin(function f, void* argument, int procs) noexcept {
    function_ = f;
    argument_ = argument;
    left_.store(procs, relaxed);
    is_over_.clear();
  }

  // The caller has cleared p's attend::safe_point, with acquire.
  void run_on(P& p) noexcept {
    function_(p, argument_);
    // release pairs with the acquire of the thread that comes last, and with the note: the thread that began the round
    // sees what the function did on this P.
    if (left_.fetch_sub(1, acq_rel) == 1) is_over_.wake();
  }

  // The note on which the thread that began the round sleeps until the function has run on all Ps.
  [[nodiscard]] os::note& is_over() noexcept { return is_over_; }

 private:
  // written by the thread that begins a round
  function function_ = nullptr;
  void* argument_ = nullptr;

  atomic<std::int32_t> left_{0};  // Ps on which the function has not run
  os::note is_over_;
};

}  // namespace thrum::rt
