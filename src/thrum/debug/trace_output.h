// The contents of a trace file, in the order in which they are written: the header, the modules, then clocks and the
// records of streams in any order, and at the end the names of places and the end block.
#pragma once

#include "core/trace_chunks.h"
#include "debug/trace_file.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_set>

namespace thrum::rt {
struct Sched;
}  // namespace thrum::rt

namespace thrum::rt::trace {

class output {
 public:
  // Returns 0 or the errno. Writes the header and the modules.
  [[nodiscard]] int open(Sched const& s, std::string const& path, std::uint32_t flags);
  void write_clock(chunk_pool const& pool);
  // Records of one stream, from the middle of a chunk or from its beginning. Returns the base of what follows.
  std::uint64_t write_records(std::uint16_t stream, std::uint32_t block, std::uint64_t base_ticks, std::uint64_t lost,
                              std::span<std::uint64_t const> words);
  // Of a flight record: records up to this moment may be missing. 0: none are.
  void write_complete_from(std::uint64_t ticks);
  [[nodiscard]] std::uint64_t ticks_per_second() const noexcept { return ticks_per_second_; }
  void flush() { file_.flush(); }
  [[nodiscard]] int error() const noexcept { return file_.error(); }
  // Closes the file as it is.
  void give_up() noexcept { file_.give_up(); }
  // Writes what belongs to the end, which takes a while because it looks names up. Returns 0 or the first errno.
  [[nodiscard]] int finish(chunk_pool const& pool);

 private:
  std::uint64_t note_sites(std::uint64_t base_ticks, std::span<std::uint64_t const> words);
  void write_sites();

  file file_;
  std::uint64_t ticks_per_second_ = 0;
  std::unordered_set<std::uint64_t> sites_;  // addresses in the code that records contain
};

// The largest number of streams that the run may have for the present number of Ps.
[[nodiscard]] std::size_t streams_of(Sched const& s) noexcept;

// How many words of the chunk are whole records. The owner may write more meanwhile.
[[nodiscard]] std::size_t words_written(chunk const& c, std::size_t from) noexcept;

}  // namespace thrum::rt::trace
