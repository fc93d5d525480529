// A thread of this process by its name, as the kernel knows it.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace thrum::test {

// 0: it is not there.
[[nodiscard]] inline int tid_of(char const* name) {
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;
    std::ifstream(task.path() / "comm") >> found;
    if (found == name) return std::stoi(task.path().filename());
  }
  return 0;
}

}  // namespace thrum::test
