// pace: how long a goroutine runs at a time, of late, on one P. Whoever has fetched events goes by it: sched/poll.h.
//
// A decayed mean of *batches*: the time from when a batch came into the P's ring until the P had nothing left to run, divided by the
// number of goroutines that ran there meanwhile. Every batch is measured, also one that others helped with, so the mean comes down
// again after a slow goroutine as fast as it went up; and one that took a second, or whose thread was kept from running, counts no
// more than one that was slow.
// At first nothing is known, and goroutines count as slow.
//
// Owner of the P only.
#pragma once

#include <algorithm>
#include <cstdint>

namespace thrum::rt {

class pace {
 public:
  static constexpr std::int64_t slow_ns =
      50'000;  // as slow as two that others are woken for; longer ones say nothing more

  // A batch is in the ring. One that is still being measured is forgotten.
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
    if (runs == 0) return;  // others ran them
    run_ns_ +=
        (std::clamp<std::int64_t>(took_ns / runs, 0, slow_ns) - run_ns_) / 4;  // a quarter: the last few batches count
  }

  // The P goes idle by another way.
  void forget_batch() noexcept { began_ns_ = 0; }

  [[nodiscard]] std::int64_t run_ns() const noexcept { return run_ns_; }

 private:
  std::int64_t run_ns_ = slow_ns;
  std::int64_t began_ns_ = 0;  // 0: nothing is being measured
  std::uint64_t runs_before_ = 0;
};

}  // namespace thrum::rt
