// A stream of trace records. One thread at a time writes it: the M that holds the P to which it belongs, or a thread
// without a P that has taken a loose stream.
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
  void write(chunk_pool& pool, kind what, std::uint8_t number, std::uint8_t detail, Args... args) noexcept {
    constexpr std::size_t words = 1 + sizeof...(Args);
    std::uint64_t const now = pool.ticks_now();
    std::uint64_t* const at = room_for(pool, words, now);
    if (at == nullptr) return;
    std::size_t i = 0;
    ((at[++i] = static_cast<std::uint64_t>(args)), ...);
    publish(at, words, head::of(what, words, number, detail, now - base_ticks_));
  }

  // The same with a text behind the first two arguments. What does not fit into a record is cut.
  void write_text(chunk_pool& pool, kind what, std::uint8_t number, std::uint8_t detail, std::uint64_t goroutine,
                  std::uint64_t const* task, std::string_view text) noexcept;

  // Lets others read what has been written so far, and leaves the chunk. The next record begins another one.
  void close(chunk_pool& pool) noexcept;

 private:
  // Returns where the next record goes. nullptr: the event is lost, because there is no memory.
  std::uint64_t* room_for(chunk_pool& pool, std::size_t words, std::uint64_t now) noexcept {
    constexpr std::size_t words_of_clock = 2;
    bool const fits = left_ >= words + words_of_clock && (now - base_ticks_) >> 32U == 0 && trace_ == pool.trace();
    if (!fits) [[unlikely]]
      return make_room(pool, words, now);
    return at_;
  }
  std::uint64_t* make_room(chunk_pool& pool, std::size_t words, std::uint64_t now) noexcept;
  bool begin_chunk(chunk_pool& pool, std::uint64_t now) noexcept;
  void publish(std::uint64_t* at, std::size_t words, std::uint64_t first) noexcept {
    publish_word(*at, first);  // pairs with the reader of the chunk: see trace_chunks.h
    at_ = at + words;
    left_ -= words;
  }

  std::uint64_t* at_ = nullptr;
  std::size_t left_ = 0;  // words that are left in the chunk
  std::uint64_t base_ticks_ = 0;
  chunk* chunk_ = nullptr;
  std::uint32_t trace_ = 0;           // the trace to which the chunk and the numbers below belong
  std::uint32_t next_ = 0;            // the number of the next chunk
  std::uint64_t lost_ = 0;            // events lost in this trace
  std::uint32_t no_chunk_since_ = 0;  // the number of frees when there was no chunk
  bool has_no_chunk_ = false;
  std::uint16_t number_;
};

}  // namespace thrum::rt::trace
