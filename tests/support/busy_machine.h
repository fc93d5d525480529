// Time limits on a machine that other programs use too. The time for which this process has waited for a CPU is not
// counted, because the runtime does not cause it.
//
//   busy_machine const machine;
//   ...
//   if (limits_count()) EXPECT_LE(machine.time_taken(), 2s);
#pragma once

#include "base/platform.h"
#include "support/child.h"
#include <thrum/clock.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace thrum::test {

// False under a sanitizer, under an emulator, and with delays by THRUM_CHAOS. Time limits mean nothing there.
[[nodiscard]] inline bool limits_count() {
  return !rt::with_asan && !rt::with_tsan && !emulated() && std::getenv("THRUM_CHAOS") == nullptr;
}

// The sum over all live threads of the process. It is 0 if the kernel does not count it.
[[nodiscard]] inline std::chrono::nanoseconds waited_for_a_cpu() {
  std::int64_t total_ns = 0;
  std::error_code none;
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task", none)) {
    std::ifstream times(task.path() / "schedstat");
    std::int64_t ran_ns = 0;
    std::int64_t waited_ns = 0;
    times >> ran_ns >> waited_ns;
    total_ns += waited_ns;
  }
  return std::chrono::nanoseconds(total_ns);
}

class busy_machine {
 public:
  // The time since the object was made, less the time for which threads waited for a CPU meanwhile. On an idle machine
  // the latter is close to 0.
  [[nodiscard]] clock::duration time_taken() const { return clock::now() - begin_ - (waited_for_a_cpu() - waited_); }

 private:
  clock::time_point begin_ = clock::now();
  std::chrono::nanoseconds waited_ = waited_for_a_cpu();
};

}  // namespace thrum::test
