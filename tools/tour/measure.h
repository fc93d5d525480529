// What an act is measured with: the clock, the scheduler's counters and the process's memory.
#pragma once

#include <thrum/runtime.h>

#include <chrono>
#include <cstdint>
#include <span>

namespace tour {

thrum::proc_stats sum_of(std::span<thrum::proc_stats const> procs);  // id and queued are left out

std::uint64_t resident_bytes();  // of the process, by /proc/self/statm

// Time and counters from its construction on. Inside thrum::run only. The counters are those of the whole scheduler:
// they speak of one act because the acts follow one another.
class measurement {
 public:
  measurement();

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
