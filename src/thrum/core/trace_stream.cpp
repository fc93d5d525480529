#include "core/trace_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace thrum::rt::trace {
namespace {

// A record of the time. Each chunk keeps room for one.
constexpr std::size_t words_of_clock = 2;

}  // namespace

void stream::write_slowly(chunk_pool& pool, std::uint64_t first, std::uint64_t a, std::uint64_t b,
                          std::uint64_t c) noexcept {
  std::size_t const words = head::words_of(first);
  std::uint64_t const now = pool.ticks_now();
  if (!make_room(pool, words, now)) return;
  std::uint64_t const args[] = {a, b, c};
  for (std::size_t i = 1; i < words; ++i) write_word(at_[i], args[i - 1]);
  publish(at_, words, first | std::uint64_t{last_since_} << 32U);
}

bool stream::make_room(chunk_pool& pool, std::size_t words, std::uint64_t now) noexcept {
  if (!has_room(pool, words) && !begin_chunk(pool, now)) {
    ++lost_;
    if (trace_ == pool.trace_hint()) pool.count_lost();  // not a late event of an earlier trace
    return false;
  }
  if (std::uint64_t const since = now - base_ticks_; since >> 32U != 0) {
    // Too much time has passed for 32 bits, or the counter of this processor is behind that of the last one.
    at_[1] = now;
    publish(at_, words_of_clock, head::of(kind::clock, words_of_clock, 0, 0, 0));
    base_ticks_ = now;
  }
  last_since_ = static_cast<std::uint32_t>(now - base_ticks_);
  return true;
}

bool stream::begin_chunk(chunk_pool& pool, std::uint64_t now) noexcept {
  std::uint32_t const trace = pool.trace();
  if (trace == 0) return false;  // the first trace is only beginning
  chunk* next = nullptr;
  if (trace_ != trace) {
    // The chunk of the earlier trace is used again, because only its stream can leave it. It stays `owned`.
    if (next = std::exchange(chunk_, nullptr); next != nullptr) chunk_pool::clear(*next);
    trace_ = trace;
    next_ = 0;
    lost_ = 0;
    has_no_chunk_ = false;
  }
  if (chunk_ != nullptr) close(pool);
  bool const is_claimed = next == nullptr;
  if (is_claimed) {
    std::uint32_t const frees = pool.frees();
    if (has_no_chunk_ && pool.loses_new() && frees == no_chunk_since_) return false;
    next = pool.claim(trace);
    has_no_chunk_ = next == nullptr;
    no_chunk_since_ = frees;
    if (has_no_chunk_) return false;
  }
  next->number = next_++;
  next->stream = number_;
  next->base_ticks = now;
  next->lost = lost_;
  next->trace.store(trace, release);  // pairs with chunk::is: the fields are set
  if (is_claimed) next->is_set_up();
  chunk_ = next;
  at_ = next->words;
  limit_ = next->words + chunk::words_max - words_of_clock;
  base_ticks_ = now;
  return true;
}

void stream::close(chunk_pool& pool) noexcept {
  at_ = nullptr;
  limit_ = nullptr;
  if (chunk* const c = std::exchange(chunk_, nullptr)) pool.fill(*c);
}

void stream::write_text(chunk_pool& pool, kind what, std::uint8_t number, std::uint8_t detail, std::uint64_t goroutine,
                        std::uint64_t const* task, std::string_view text) noexcept {
  std::size_t const before = task != nullptr ? 4 : 3;  // the first word, the goroutine, the task and the length
  std::size_t const bytes = std::min(text.size(), (record_words_max - before) * sizeof(std::uint64_t));
  std::size_t const words = before + (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
  std::uint64_t const now = pool.ticks_now();
  if (!make_room(pool, words, now)) return;
  std::uint64_t* const at = at_;
  at[1] = goroutine;
  if (task != nullptr) at[2] = *task;
  at[before - 1] = bytes;
  if (bytes != 0) std::memcpy(at + before, text.data(), bytes);  // the chunk's zeros are the padding
  publish(at, words, head::of(what, words, number, detail, last_since_));
}

}  // namespace thrum::rt::trace
