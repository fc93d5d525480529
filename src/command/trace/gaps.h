// Whether records may be missing without a mistake of the writer.
//
// Blocks or events that were lost may have held any record. A flight record does not begin at the same time in all
// streams, and a trace that was cut off does not end at the same time in all streams.
#pragma once

#include "command/trace/trace_file.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace thrum::command {

class gap_rules {
 public:
  explicit gap_rules(trace_file const& file) : anywhere_(file.has_losses() || !file.damage.empty()) {
    for (auto const& [number, each] : file.streams) {
      if (each.records.empty()) continue;
      if (file.header.is_flight_record && each.first_block > 0) {
        complete_from_ = std::max(complete_from_, each.records.front().ns);
      }
      if (!file.has_end) complete_until_ = std::min(complete_until_, each.records.back().ns);
    }
  }

  // Whether a record may be missing between these times.
  [[nodiscard]] bool explain(std::int64_t from, std::int64_t to) const noexcept {
    return anywhere_ || from <= complete_from_ || to >= complete_until_;
  }

 private:
  bool anywhere_;
  std::int64_t complete_from_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t complete_until_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace thrum::command
