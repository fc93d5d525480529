// A scenario: what `thrum play` runs on the scheduler (docs/playground.md). It is a plain value. parse.h makes one of a
// text, and run.h runs it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace thrum::command {

// Both count from 1. Columns count bytes.
struct position {
  int line = 1;
  int column = 1;
};

enum class verb : std::uint8_t { go, send, recv, close, lock, spin, sleep, syscall, yield, block, repeat };

enum class call_kind : std::uint8_t {
  may_be_short,
  long_call,
  unannounced,  // sysmon has to find it
};

struct statement {
  verb what = verb::yield;
  position at{};
  std::string text{};                   // as the page shows it, without its block
  std::size_t target = 0;               // the index of the body, the channel or the mutex that it names
  int count = 1;                        // of `go` and `repeat`
  std::chrono::nanoseconds duration{};  // of `spin`, `sleep` and `syscall`
  call_kind call = call_kind::may_be_short;
  std::vector<statement> block{};  // of `lock` and `repeat`
};

// "7:3", where the statement is in the text. No two statements have the same label.
[[nodiscard]] inline std::string label_of(statement const& one) {
  std::string made = std::to_string(one.at.line);
  made += ':';
  return made += std::to_string(one.at.column);
}

// What goroutines of one name do.
struct body {
  std::string name{};
  std::vector<statement> statements{};
};

struct channel {
  std::string name{};
  int capacity = 0;
};

// The first goroutine starts `count` goroutines with this body.
struct start {
  std::size_t body = 0;
  int count = 1;
};

struct scenario {
  int procs = 4;
  int queue = 4;
  std::chrono::nanoseconds limit = std::chrono::seconds(5);
  std::vector<channel> channels{};
  std::vector<std::string> mutexes{};
  std::vector<body> bodies{};
  std::vector<start> starts{};
  std::vector<std::string> lines{};  // the text, valid UTF-8 without control characters
};

// The bounds of a scenario.
inline constexpr std::size_t scenario_bytes_max = 64 * 1024;
inline constexpr int scenario_procs_max = 64;
inline constexpr int scenario_queue_min = 4;  // these two are those of options::local_queue_capacity
inline constexpr int scenario_queue_max = 256;
inline constexpr int scenario_names_max = 64;  // bodies, channels and mutexes, of each kind
inline constexpr int scenario_capacity_max = 1000;
inline constexpr int scenario_goroutines_max = 1000;   // in the whole run
inline constexpr int scenario_statements_max = 20000;  // in the whole run
inline constexpr int scenario_rounds_max = 10000;      // of one `repeat`
inline constexpr int scenario_depth_max = 8;           // of blocks in blocks
inline constexpr std::chrono::seconds scenario_duration_max{10};
inline constexpr std::chrono::seconds scenario_limit_max{60};
inline constexpr std::size_t scenario_name_bytes_max = 32;

// The text is no scenario. The message says what was expected, what was found, and what to do.
struct scenario_error : std::runtime_error {
  scenario_error(position where, std::string const& what) : std::runtime_error(what), at(where) {}
  position at;
};

}  // namespace thrum::command
