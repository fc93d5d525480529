// Follows the goroutines through their records, and checks them against the table of the document.
#pragma once

#include "command/trace/gaps.h"
#include "command/trace/history.h"

#include <cstdint>
#include <vector>

namespace thrum::command {

class goroutine_replay {
 public:
  goroutine_replay(trace_file const& file, history& into, findings& found)
      : file_(file), gaps_(file), into_(into), found_(found) {}

  // The event is about a goroutine.
  void add(event const& now);
  // Ends the intervals that no record has ended, and checks that the states of each goroutine add up to its life.
  void finish();

 private:
  // What is going on, per goroutine. `open` is the interval that has no end yet.
  struct current {
    g_interval open;
    std::int64_t number = 0;
    std::uint64_t holder = 0;  // the last record named the holder of a lock for which the goroutine is about to stop
    bool is_known = false;     // what the goroutine did before the trace is known, or does not matter any more
  };

  [[nodiscard]] std::uint32_t place_of(event const& now);
  void check_number(event const& now, std::uint32_t place);
  void note_holder(event const& now, std::uint32_t place);
  void check_state(event const& now, std::uint32_t place, g_state before);
  void count_life(std::uint32_t place, std::int64_t end);
  void close(std::uint32_t place, std::int64_t ns, record const* by);
  void open(std::uint32_t place, event const& now, g_state state);

  trace_file const& file_;
  gap_rules gaps_;
  history& into_;
  findings& found_;
  std::vector<current> current_;
};

}  // namespace thrum::command
