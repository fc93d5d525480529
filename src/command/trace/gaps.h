// Whether records may be missing without a mistake of the writer.
//
// Blocks or events that were lost may have held any record. So may the blocks that a program did not write any more
// before it was killed, because a stream may collect its records for long. A flight record is complete from a certain
// moment on.
#pragma once

#include "command/trace/trace_file.h"

#include <cstdint>
#include <limits>

namespace thrum::command {

class gap_rules {
 public:
  explicit gap_rules(trace_file const& file) : anywhere_(file.has_losses() || !file.has_end || !file.damage.empty()) {
    if (file.complete_from) complete_from_ = *file.complete_from + counters_differ_max_ns;
  }

  // Whether a record that is missing after this time may have been lost.
  [[nodiscard]] bool explain(std::int64_t from) const noexcept { return anywhere_ || from < complete_from_; }

  static constexpr std::int64_t counters_differ_max_ns = 10'000;

 private:
  bool anywhere_;
  std::int64_t complete_from_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace thrum::command
