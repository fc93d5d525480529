// What `thrum dump`, `thrum stats`, `thrum profile` and `thrum trace PID -o FILE` do, without the parsing of their
// command lines.
#pragma once

#include "command/exit_codes.h"

#include <iosfwd>
#include <string>

namespace thrum::command {

struct dump_options {
  std::string target{};
  bool json = false;
  bool grouped = false;
  bool leaks = false;
};
[[nodiscard]] int run_dump(dump_options const& options, std::ostream& out);

struct stats_options {
  std::string target{};
  double watch_seconds = 0;  // 0: once
  bool json = false;
  bool procs = false;  // each P for itself
};
[[nodiscard]] int run_stats(stats_options const& options, std::ostream& out);

// Has the process record a trace of its run into a file.
struct record_options {
  std::string target{};
  std::string file{};
  int seconds = 5;
};
[[nodiscard]] int run_record(record_options const& options, std::ostream& out);

// Takes a profile of the process, in the format of pprof.
struct profile_options {
  std::string target{};
  std::string kind = "cpu";  // or goroutines, blocks, mutexes
  std::string file{};
  int seconds = 5;  // not for goroutines
};
[[nodiscard]] int run_profile(profile_options const& options, std::ostream& out);

}  // namespace thrum::command
