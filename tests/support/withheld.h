// How long the threads of this process have waited for a CPU, all in all, since others had it: what a machine that is shared takes from
// a figure. Of threads that are there all the time; 0 where the kernel does not tell.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>

namespace thrum::test {

[[nodiscard]] inline std::chrono::nanoseconds cpu_withheld() {
  std::int64_t sum_ns = 0;
  for (auto const& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::int64_t ran_ns = 0;
    std::int64_t waited_ns = 0;
    if (std::ifstream(thread.path() / "schedstat") >> ran_ns >> waited_ns) sum_ns += waited_ns;
  }
  return std::chrono::nanoseconds(sum_ns);
}

}  // namespace thrum::test
