// Counts the open descriptors of this process, for tests that check for leaks.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace thrum::test {

template <class Counts>
[[nodiscard]] int descriptors_of(Counts counts) {
  int count = 0;
  for (auto const& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    std::string const what = std::filesystem::read_symlink(each.path(), gone).string();
    if (!gone && counts(what)) ++count;
  }
  return count;
}

// Files are not counted, because sysmon may open some at any time.
[[nodiscard]] inline int open_descriptors() {
  return descriptors_of([](std::string const& what) { return !what.starts_with('/'); });
}

[[nodiscard]] inline int open_sockets() {
  return descriptors_of([](std::string const& what) { return what.starts_with("socket:"); });
}

}  // namespace thrum::test
