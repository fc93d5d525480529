// Limits of time on a machine that others use too: what this process has waited for a CPU is not the runtime's doing.
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

// Not beside a sanitizer, an emulator, or delays that were asked for.
[[nodiscard]] inline bool limits_count() {
  return !rt::with_asan && !rt::with_tsan && !emulated() && std::getenv("THRUM_CHAOS") == nullptr;
}

// Of all threads of the process that live. Where the kernel does not count it: none.
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
  // Since it was made, less what threads waited meanwhile: on a machine that nobody else uses, next to nothing.
  [[nodiscard]] clock::duration time_taken() const { return clock::now() - begin_ - (waited_for_a_cpu() - waited_); }

 private:
  clock::time_point begin_ = clock::now();
  std::chrono::nanoseconds waited_ = waited_for_a_cpu();
};

}  // namespace thrum::test
