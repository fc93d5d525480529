#include "debug/trace_notes.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace thrum::rt::trace {

void chunk_notes::make_room(chunk_pool const& pool) {
  all_.clear();
  all_.reserve(pool.all().size());
}

chunk_notes::noted_chunk chunk_notes::noted_chunk::of(chunk& c) noexcept {
  return {&c, c.full_number(), c.until_ticks.load(relaxed), c.base_ticks, c.lost, c.number, c.stream};
}

void chunk_notes::begin(std::uint32_t trace, std::uint64_t until_ticks) noexcept {
  trace_ = trace;
  until_ticks_ = until_ticks;
  complete_from_ticks_ = 0;
}

void chunk_notes::records_are_missing(std::uint64_t until_ticks) noexcept {
  complete_from_ticks_ = std::max(complete_from_ticks_, until_ticks);
}

void chunk_notes::note_full(chunk_pool const& pool, std::uint32_t trace) noexcept {
  begin(trace, std::numeric_limits<std::uint64_t>::max());
  note_if(pool, [](chunk const& c) { return c.full_number() != 0; });
}

void chunk_notes::note_all(chunk_pool const& pool, std::uint32_t trace) noexcept {
  begin(trace, pool.ticks_now());
  note_if(pool, [](chunk const&) { return true; });
}

template <class Wanted>
void chunk_notes::note_if(chunk_pool const& pool, Wanted is_wanted) noexcept {
  for (chunk& c : pool.all()) {
    held_chunk const held(c, trace_);
    if (held && is_wanted(c)) all_.push_back(noted_chunk::of(c));
    if (c.is(chunk_state::claimed, trace_)) records_are_missing(c.until_ticks.load(relaxed));
  }
  // Read last: a chunk that was `owned` again above counts here.
  records_are_missing(pool.overwritten_until());
}

// Leaves out the chunks whose successor began before the oldest event that is wanted.
void chunk_notes::forget_what_is_too_old(double oldest_ticks) noexcept {
  sort_by_stream(all_);
  auto keep = all_.begin();
  for (auto at = all_.begin(); at != all_.end(); ++at) {
    auto const next = at + 1;
    bool const is_too_old =
        next != all_.end() && next->stream == at->stream && static_cast<double>(next->base_ticks) < oldest_ticks;
    if (is_too_old) {
      records_are_missing(next->base_ticks);
    } else {
      *keep++ = *at;
    }
  }
  all_.erase(keep, all_.end());
}

// Copies the records, and returns how many words there are. Returns nothing if a stream has used the chunk again since
// it was noted.
std::optional<std::size_t> chunk_notes::copy(noted_chunk const& one, std::span<std::uint64_t> to) const noexcept {
  chunk& its = *one.its;
  held_chunk const held(its, trace_);
  if (!held || its.stream != one.stream || its.number != one.number) return std::nullopt;
  std::size_t const end = words_in_time({its.words, words_written(its, 0)}, one.base_ticks);
  std::memcpy(to.data(), its.words, end * sizeof(std::uint64_t));
  return end;
}

// How many words belong to records that are not too late.
std::size_t chunk_notes::words_in_time(std::span<std::uint64_t const> words, std::uint64_t base_ticks) const noexcept {
  for (std::size_t at = 0; at < words.size(); at += head::words_of(words[at])) {
    bool const is_clock = head::kind_of(words[at]) == kind::clock;
    if (is_clock) base_ticks = words[at + 1];
    std::uint64_t const ticks = is_clock ? base_ticks : base_ticks + head::ticks_since_base_of(words[at]);
    if (ticks > until_ticks_) return at;
  }
  return words.size();
}

// Streams that need room take the oldest chunks, so these are copied first.
void chunk_notes::write(output& to, double oldest_ticks) {
  forget_what_is_too_old(oldest_ticks);
  std::sort(all_.begin(), all_.end(), [](noted_chunk const& a, noted_chunk const& b) {
    return std::pair(a.is_owned(), a.full_number) < std::pair(b.is_owned(), b.full_number);
  });
  std::vector<std::uint64_t> words(chunk::words_max);
  for (noted_chunk const& one : all_) {
    if (auto const count = copy(one, words)) {
      to.write_records(one.stream, one.number, one.base_ticks, one.lost, std::span(words).first(*count));
    } else {
      records_are_missing(one.is_owned() ? until_ticks_ : one.until_ticks);
    }
  }
  to.write_complete_from(complete_from_ticks_);
}

}  // namespace thrum::rt::trace
