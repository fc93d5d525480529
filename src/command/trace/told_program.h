// A program whose goroutines write into the trace where they are. `thrum play` records its scenarios so
// (command/play/run.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace thrum::command {

// The texts are valid UTF-8.
struct told_statement {
  std::uint64_t line = 0;  // in the program's text, from 1
  std::string text{};
  // Where a goroutine waits that waits in this statement for another goroutine. An empty name: it does not.
  std::string place{};
  char const* kind_of_place = "other";  // as in docs/recording.md
};

struct told_program {
  std::string file{};
  std::vector<std::string> lines{};
  std::map<std::string, told_statement> statements{};  // by the message that a goroutine logs when it begins one
  std::size_t queue_size = 0;                          // of the run queue of each P
  std::int64_t until_monotonic_ns = std::numeric_limits<std::int64_t>::max();  // what has happened later is not told
  std::string story{};                                                         // what became of it
  std::string last_words{};  // told in a step of their own at the end. Empty: there are none
};

}  // namespace thrum::command
