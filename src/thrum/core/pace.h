// pace: how long a goroutine has run at a time recently on one P. An M that has fetched events decides by it whether to
// wake other Ps: sched/poll.h.
//
// It is a decayed mean over *batches*. The time from the moment when a batch came into the P's run queue until the P
// had nothing left to run is divided by the number of goroutines that ran there meanwhile.
//
//  - Every batch is measured, including one that other Ps helped with, so the mean falls after a slow goroutine as fast
//    as it rose.
//  - A value is limited to slow_run_ns, so a batch that took a second, or whose thread was not scheduled, counts no
//  more
//    than one that was merely slow.
//  - At first nothing is known, and goroutines count as slow.
//
// Accessed by the owner of the P only.
#pragma once

#include "base/heuristics.h"

#include <algorithm>
#include <cstdint>

namespace thrum::rt {

class pace {
 public:
  // A batch is in the run queue. If another one is being measured, that measurement is dropped.
  void begin_batch(std::int64_t now_ns, std::uint64_t runs_before) noexcept {
    began_ns_ = now_ns;
    runs_before_ = runs_before;
  }

  [[nodiscard]] bool in_batch() const noexcept { return began_ns_ != 0; }

  // The P has nothing left to run.
  void end_batch(std::int64_t now_ns, std::uint64_t runs_by_now) noexcept {
    auto const runs = static_cast<std::int64_t>(runs_by_now - runs_before_);
    std::int64_t const took_ns = now_ns - began_ns_;
    began_ns_ = 0;
    if (runs == 0) return;  // other Ps ran them
    run_ns_ += (std::clamp<std::int64_t>(took_ns / runs, 0, slow_run_ns) - run_ns_) / pace_decay;
  }

  // The P becomes idle in another way.
  void forget_batch() noexcept { began_ns_ = 0; }

  [[nodiscard]] std::int64_t run_ns() const noexcept { return run_ns_; }

 private:
  std::int64_t run_ns_ = slow_run_ns;
  std::int64_t began_ns_ = 0;  // 0: no batch is being measured
  std::uint64_t runs_before_ = 0;
};

}  // namespace thrum::rt
