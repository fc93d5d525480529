// Finds a thread of this process by its name.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace thrum::test {

// Returns the kernel's id of the thread, or 0 if there is no thread with this name.
[[nodiscard]] inline int tid_of(char const* name) {
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;
    std::ifstream(task.path() / "comm") >> found;
    if (found == name) return std::stoi(task.path().filename());
  }
  return 0;
}

}  // namespace thrum::test
