// Which chunks a snapshot of the flight recorder consists of.
//
// A snapshot first notes all chunks, and copies them one after the other later. Meanwhile streams go on, and may use
// the oldest chunks again. What a note says about a chunk tells whether it still has the same records.
//
// Used by one thread at a time. make_room and write allocate.
#pragma once

#include "core/trace_chunks.h"
#include "debug/trace_output.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace thrum::rt::trace {

class chunk_notes {
 public:
  // For all chunks of the pool. Throws std::bad_alloc.
  void make_room(chunk_pool const& pool);

  // The caller has stopped the world and has closed all streams, so the full chunks have what has happened so far.
  // Allocates nothing.
  void note_full(chunk_pool const& pool, std::uint32_t trace) noexcept;
  // The world goes on. Later events are left out, so that the snapshot ends at the same moment in all streams.
  // Events that are being written at that moment may be missing.
  void note_all(chunk_pool const& pool, std::uint32_t trace) noexcept;

  // Writes the records of the noted chunks, without those that ended before `oldest_ticks`. Then it writes the moment
  // after which the file has all records.
  void write(output& to, double oldest_ticks);

 private:
  struct noted_chunk {
    chunk* its;
    std::uint64_t full_number;
    std::uint64_t until_ticks;  // unless a stream owns it
    std::uint64_t base_ticks;
    std::uint64_t lost;
    std::uint32_t number;
    std::uint16_t stream;

    [[nodiscard]] static noted_chunk of(chunk& c) noexcept;
    [[nodiscard]] bool is_owned() const noexcept { return full_number == 0; }
  };
  void begin(std::uint32_t trace, std::uint64_t until_ticks) noexcept;
  template <class Wanted>
  void note_if(chunk_pool const& pool, Wanted is_wanted) noexcept;
  void records_are_missing(std::uint64_t until_ticks) noexcept;
  void forget_what_is_too_old(double oldest_ticks) noexcept;
  [[nodiscard]] std::optional<std::size_t> copy(noted_chunk const& one, std::span<std::uint64_t> to) const noexcept;
  [[nodiscard]] std::size_t words_in_time(std::span<std::uint64_t const> words,
                                          std::uint64_t base_ticks) const noexcept;

  std::uint32_t trace_ = 0;
  std::uint64_t until_ticks_ = 0;          // later records are left out
  std::uint64_t complete_from_ticks_ = 0;  // records up to this moment may be missing
  std::vector<noted_chunk> all_;
};

}  // namespace thrum::rt::trace
