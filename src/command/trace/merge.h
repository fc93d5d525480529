// The records of all streams in one order.
//
// The order is by time, with two rules that are stronger:
//   - The records of one goroutine are in the order of their sequence numbers, and so are the `m` records of one M.
//   - The records of one P stay in the order of its stream.
// If these rules contradict each other, which happens only in a damaged file, the earliest record goes first, and the
// contradiction is reported. The counters of two processors may differ, so a record may have an earlier time than a
// record that is before it by these rules. Then it gets the later time. So times never go back in the merged order.
//
// The file has only the low 8 bits of a sequence number. The whole number is the one next to that of the record before,
// in the order of time.
#pragma once

#include "command/trace/trace_file.h"

#include <cstdint>
#include <vector>

namespace thrum::command {

struct event {
  record const* what;
  std::int64_t ns;
  // The whole number of a record that is about a goroutine or an M. Only differences count: the first one is arbitrary.
  std::int64_t number;
};

struct merged_events {
  std::vector<event> events;
  std::uint64_t times_corrected = 0;  // how many events got the time of an event before them
  std::int64_t correction_max_ns = 0;
};

// Reports contradictions to `found`.
[[nodiscard]] merged_events merge(trace_file const& file, findings& found);

}  // namespace thrum::command
