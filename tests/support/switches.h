// How often the threads of this process have gone to sleep in the kernel, as the kernel has counted it for each of them. Not the one
// that asks, unless it is one of all, and never the watchdog, which has a pace of its own.
#pragma once

#include "os/thread.h"

#include <filesystem>
#include <fstream>
#include <string>

namespace thrum::test {

inline constexpr char watchdog_name[] = "test-watchdog";  // of its thread: see watchdog.cpp

enum class of_whom : bool { others, all };

[[nodiscard]] inline long voluntary_switches(of_whom whom) {
  long sum = 0;
  std::string const asks = std::to_string(rt::os::current_tid());
  for (auto const& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (whom == of_whom::others && thread.path().filename() == asks) continue;
    std::ifstream status(thread.path() / "status");  // gone: it says nothing
    long its = 0;
    for (std::string word; status >> word;) {
      if (word == watchdog_name) its = -1;
      if (word == "voluntary_ctxt_switches:" && its == 0) status >> its;
    }
    if (its > 0) sum += its;
  }
  return sum;
}

}  // namespace thrum::test
