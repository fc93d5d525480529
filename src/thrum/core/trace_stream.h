// A stream of trace records. One thread at a time writes it: the M that holds the P to which it belongs, or a thread
// without a P that has taken a loose stream.
//
// The usual way of a record is inline: it reads the counter, makes three comparisons and stores the words. What is rare
// is left to one function that is called last, so that the usual way saves no registers.
#pragma once

#include "core/trace_chunks.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thrum::rt::trace {

class stream {
 public:
  explicit stream(std::uint16_t its_number) noexcept : number_(its_number) {}

  // Writes a record about a goroutine or an M whose count of records is `number`, or another record with the number 0.
  template <class... Args>
  [[gnu::always_inline]] void write(chunk_pool& pool, kind what, std::uint8_t number, std::uint8_t detail,
                                    Args... args) noexcept {
    constexpr std::size_t words = 1 + sizeof...(Args);
    write(pool, head::of(what, words, number, detail, 0), args...);
  }
  // The same with a first word that is complete but for the time.
  template <class... Args>
  [[gnu::always_inline]] void write(chunk_pool& pool, std::uint64_t first, Args... args) noexcept {
    constexpr std::size_t words = 1 + sizeof...(Args);
    if (pool.counts_ticks()) [[likely]] {
      std::uint64_t const since = counter_now() - base_ticks_;
      if (has_room(pool, words) && since >> 32U == 0) [[likely]] {
        last_since_ = static_cast<std::uint32_t>(since);
        return put(first | since << 32U, args...);
      }
    }
    write_slowly(pool, first, args...);
  }
  // The same with the time of the record before, for an event that follows that one at once. Reading the counter is
  // half of the cost of a record.
  template <class... Args>
  [[gnu::always_inline]] void write_at_once(chunk_pool& pool, std::uint64_t first, Args... args) noexcept {
    if (has_room(pool, 1 + sizeof...(Args))) [[likely]]
      return put(first | std::uint64_t{last_since_} << 32U, args...);
    write_slowly(pool, first, args...);
  }
  // The same as `write` for a record of up to four words, without code where it is called.
  [[gnu::cold, gnu::noinline]] void write_slowly(chunk_pool& pool, std::uint64_t first, std::uint64_t a = 0,
                                                 std::uint64_t b = 0, std::uint64_t c = 0) noexcept;

  // The same with a text behind the first two arguments. What does not fit into a record is cut.
  void write_text(chunk_pool& pool, kind what, std::uint8_t number, std::uint8_t detail, std::uint64_t goroutine,
                  std::uint64_t const* task, std::string_view text) noexcept;

  // Lets others read what has been written so far, and leaves the chunk. The next record begins another one.
  void close(chunk_pool& pool) noexcept;

 private:
  [[nodiscard]] bool has_room(chunk_pool const& pool, std::size_t words) const noexcept {
    // A record that races with the beginning of a trace may go to a chunk of the last one, which is not read.
    return static_cast<std::size_t>(limit_ - at_) >= words && trace_ == pool.trace_hint();
  }
  template <class... Args>
  [[gnu::always_inline]] void put(std::uint64_t first, Args... args) noexcept {
    std::uint64_t* const at = at_;
    std::size_t i = 0;
    (write_word(at[++i], args), ...);
    publish(at, 1 + sizeof...(Args), first);
  }
  // Makes sure that a record has room, and that its time fits. Returns false if the event is lost, because there is no
  // memory.
  [[nodiscard]] bool make_room(chunk_pool& pool, std::size_t words, std::uint64_t now) noexcept;
  bool begin_chunk(chunk_pool& pool, std::uint64_t now) noexcept;
  void publish(std::uint64_t* at, std::size_t words, std::uint64_t first) noexcept {
    publish_word(*at, first);  // pairs with the reader of the chunk: see trace_chunks.h
    at_ = at + words;
  }

  std::uint64_t* at_ = nullptr;
  std::uint64_t* limit_ = nullptr;  // the end of the chunk, but for a record of the time
  std::uint64_t base_ticks_ = 0;
  std::uint32_t last_since_ = 0;  // ticks from the base to the last record
  std::uint32_t trace_ = 0;       // the trace to which the chunk and the numbers below belong
  std::uint16_t number_;
  bool has_no_chunk_ = false;
  chunk* chunk_ = nullptr;
  std::uint32_t next_ = 0;            // the number of the next chunk
  std::uint32_t no_chunk_since_ = 0;  // the number of frees when there was no chunk
  std::uint64_t lost_ = 0;            // events lost in this trace
};

}  // namespace thrum::rt::trace
