// A trace file in memory: what its blocks hold, before the streams are merged.
//
// Memory is proportional to the size of the file, whatever the file says about itself. Nothing is allocated by a number
// that stands in the file.
#pragma once

#include "command/trace/findings.h"
#include "command/trace/format.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace thrum::command {

// The file cannot be read at all: it is no trace file, or one of another version.
class unreadable_file : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct file_header {
  std::uint64_t ticks_per_second = 0;
  std::uint64_t ticks = 0;
  std::int64_t monotonic_ns = 0;
  std::int64_t real_time_ns = 0;
  std::uint32_t process = 0;
  std::uint32_t architecture = 0;
  bool is_flight_record = false;
  std::uint32_t ps = 0;
};

struct record {
  std::int64_t ns = 0;  // since file_header::monotonic_ns
  std::uint64_t const* words = nullptr;
  record_kind kind = record_kind::none;
  std::uint8_t length = 0;  // in words
  std::uint8_t sequence = 0;
  std::uint8_t detail = 0;
  std::uint16_t stream = 0;

  // The arguments are counted from 0.
  [[nodiscard]] std::uint64_t argument(std::size_t i) const noexcept { return words[i + 1]; }
  // The text behind the arguments that are numbers, cleaned.
  [[nodiscard]] std::string text() const;
};

struct stream {
  std::vector<record> records;
  std::uint64_t lost_events = 0;
  std::uint64_t lost_blocks = 0;
  std::uint32_t first_block = 0;       // behind the last gap, of a flight record
  std::size_t records_before_gap = 0;  // of a flight record: behind them blocks are missing
  std::uint32_t last_block = 0;
  bool has_blocks = false;
};

struct module_range {
  std::uint64_t begin, end, difference;
  std::string path;
};

struct site_name {
  std::string function, place;
};

struct trace_file {
  std::unique_ptr<std::uint64_t[]> contents;
  std::uint64_t bytes = 0;

  file_header header;
  std::map<std::uint16_t, stream> streams;
  std::vector<module_range> modules;  // in the order of their addresses
  std::unordered_map<std::uint64_t, site_name> sites;

  bool has_end = false;
  std::uint64_t lost_events = 0;
  std::uint64_t lost_blocks = 0;
  std::uint64_t records = 0;
  // Of a flight record: records before this moment may be missing. Nothing: none are, or the file does not tell.
  std::optional<std::int64_t> complete_from;
  std::uint64_t left_out = 0;         // records from before that moment
  std::uint64_t unknown_records = 0;  // of kinds that version 1 does not have
  std::uint64_t unknown_blocks = 0;

  // How the reading ended before the end of the file, if it did. It is empty for a file that was stopped properly.
  std::string cut_off;  // the program was killed, or the disk was full: what was read is valid
  std::string damage;   // the file is broken there
  findings violations;

  // Where the record begins in the file.
  [[nodiscard]] std::uint64_t byte_of(record const& record) const noexcept {
    return static_cast<std::uint64_t>(record.words - contents.get()) * 8;
  }
  // Whether records are missing that the file does not claim to have.
  [[nodiscard]] bool has_losses() const noexcept { return lost_events != 0 || lost_blocks != 0; }

  // "main (main.cpp:12)", or "libfoo.so+0x1234", or an address.
  [[nodiscard]] std::string name_of_site(std::uint64_t address) const;
  // The same without the place.
  [[nodiscard]] std::string short_name_of_site(std::uint64_t address) const;
};

// These throw unreadable_file.
[[nodiscard]] trace_file read_trace_file(std::string const& path);
[[nodiscard]] trace_file read_trace(std::string_view bytes);

}  // namespace thrum::command
