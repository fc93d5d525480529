// What an act is measured with: the clock, the scheduler's counters and the process's memory.
#pragma once

#include <thrum/runtime.h>

#include <chrono>
#include <cstdint>

namespace tour {

// The counters of all Ps together. Inside thrum::run only.
thrum::proc_stats sum_of_procs();

std::uint64_t resident_bytes();

// Time and counters from its construction on. The counters are of the whole scheduler, so acts follow one another.
class measurement {
 public:
  measurement() : counters_(sum_of_procs()), began_(std::chrono::steady_clock::now()) {}

  struct result {
    std::uint64_t took_ns;
    thrum::proc_stats counted;  // by all Ps together
  };
  [[nodiscard]] result so_far() const;

 private:
  thrum::proc_stats counters_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace tour
