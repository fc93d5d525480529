// How often threads of this process have gone to sleep, according to the kernel's count of voluntary context switches.
#pragma once

#include "os/thread.h"

#include <filesystem>
#include <fstream>
#include <string>

namespace thrum::test {

// The name of the watchdog's thread. It is counted separately, because it wakes up periodically (watchdog.cpp).
inline constexpr char watchdog_name[] = "test-watchdog";

enum class counted_threads : bool { watchdog, others };  // others: all other threads except the caller

[[nodiscard]] inline long voluntary_switches(counted_threads whom) {
  long sum = 0;
  std::string const asks = std::to_string(rt::os::current_tid());
  for (auto const& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == asks) continue;
    std::ifstream status(thread.path() / "status");  // empty if the thread has ended
    counted_threads its = counted_threads::others;
    long switches = 0;
    for (std::string word; status >> word;) {
      if (word == watchdog_name) its = counted_threads::watchdog;
      if (word == "voluntary_ctxt_switches:") status >> switches;
    }
    if (its == whom) sum += switches;
  }
  return sum;
}

}  // namespace thrum::test
