// Reads what a block holds.
#pragma once

#include "command/trace/clock_points.h"
#include "command/trace/trace_file.h"

#include <cstdint>
#include <string>

namespace thrum::command {

struct block_header {
  block_kind kind;
  std::uint16_t stream;
  std::uint32_t length;
  std::uint32_t number;
  std::uint64_t ticks;
  std::uint64_t lost_events;
};

// Reads the contents, of which the file has the first `bytes`, from byte `begin` on. Only whole records and entries are
// read. Until all blocks are read, the time of a record is in ticks. Returns what is broken, or nothing.
[[nodiscard]] std::string read_block(trace_file& file, clock_points& clock, block_header const& header,
                                     std::uint64_t begin, std::uint64_t bytes);

}  // namespace thrum::command
