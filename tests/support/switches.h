// How often threads of this process have gone to sleep in the kernel, as the kernel has counted it for each of them.
#pragma once

#include "os/thread.h"

#include <filesystem>
#include <fstream>
#include <string>

namespace thrum::test {

inline constexpr char watchdog_name[] =
    "test-watchdog";  // of its thread, which has a pace of its own: see watchdog.cpp

enum class of_whom : bool { watchdog, others };  // the others: but for the one that asks

[[nodiscard]] inline long voluntary_switches(of_whom whom) {
  long sum = 0;
  std::string const asks = std::to_string(rt::os::current_tid());
  for (auto const& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == asks) continue;
    std::ifstream status(thread.path() / "status");  // gone: it says nothing
    of_whom its = of_whom::others;
    long switches = 0;
    for (std::string word; status >> word;) {
      if (word == watchdog_name) its = of_whom::watchdog;
      if (word == "voluntary_ctxt_switches:") status >> switches;
    }
    if (its == whom) sum += switches;
  }
  return sum;
}

}  // namespace thrum::test
