#include "core/trace_chunks.h"

#include "base/round_up.h"
#include "os/memory.h"

#include <cstring>
#include <new>

namespace thrum::rt::trace {
namespace {

constexpr std::size_t chunk_bytes = chunk::words_max * sizeof(std::uint64_t);

}  // namespace

// --- chunks ---

// acquire pairs with is_read, let_go and has_become_full: other threads are done with the records
bool chunk::try_claim(std::uint64_t expected) noexcept {
  return word_.load(relaxed) == expected &&
         word_.compare_exchange(expected, word_of(chunk_state::claimed), acquire, relaxed);
}

std::uint64_t chunk::claimable_number() const noexcept {
  std::uint64_t const word = word_.load(acquire);  // as state(): the caller looks at `trace` next
  std::uint64_t const number_then = word >> number_shift;
  return word == word_of_full(number_then) ? number_then : 0;
}

// Readers may hold the chunk meanwhile, and go on.
void chunk::has_become_full(std::uint64_t its_number) noexcept {
  word_.fetch_add(word_of_full(its_number) - word_of(chunk_state::owned), release);  // pairs with state(): the records
}

bool chunk::try_hold() noexcept {
  std::uint64_t seen = word_.load(relaxed);
  for (;;) {
    chunk_state const now = state_in(seen);
    if (now != chunk_state::owned && now != chunk_state::full) return false;
    // acquire pairs with is_set_up and has_become_full: the fields and the records are there
    if (word_.compare_exchange(seen, seen + one_reader, acquire, relaxed)) return true;
  }
}

void chunk::let_go() noexcept { word_.fetch_sub(one_reader, release); }  // pairs with try_claim: it has been read

held_chunk::held_chunk(chunk& c, std::uint32_t of_trace) noexcept : its_(c.try_hold() ? &c : nullptr) {
  if (its_ == nullptr || c.trace.load(acquire) == of_trace) return;  // pairs with stream::begin_chunk
  c.let_go();
  its_ = nullptr;
}

// --- the pool ---

chunk_pool::~chunk_pool() {
  if (chunks_ != nullptr) os::unmap(reinterpret_cast<char*>(chunks_), mapped_bytes_);
}

int chunk_pool::make(std::size_t bytes, std::size_t streams) noexcept {
  if (chunks_ != nullptr) return 0;
  constexpr std::size_t bytes_max = std::size_t{1} << 36U;
  std::size_t const bytes_min = 2 * streams * chunk_bytes;
  std::size_t const count = std::max(std::min(bytes, bytes_max), bytes_min) / chunk_bytes;
  std::size_t const table_bytes = round_up(count * sizeof(chunk), os::page_size());
  auto const mapped = os::map(table_bytes + count * chunk_bytes);
  if (mapped.address == nullptr) return mapped.error;
  mapped_bytes_ = table_bytes + count * chunk_bytes;
  auto* const table = reinterpret_cast<chunk*>(mapped.address);
  char* words = mapped.address + table_bytes;
  for (std::size_t i = 0; i < count; ++i, words += chunk_bytes) {
    ::new (static_cast<void*>(table + i)) chunk{};
    table[i].words = reinterpret_cast<std::uint64_t*>(words);
    clear(table[i]);  // so that no page fault happens at an event, which may be under a lock
  }
  chunks_ = table;
  count_ = count;
  return 0;
}

std::uint32_t chunk_pool::begin_trace(when_full policy) noexcept {
  // What an earlier trace has left. A chunk that a stream still owns is cleared by that stream.
  for (chunk& c : all()) {
    free_of_earlier_trace(c, trace_.load(relaxed) + 1);
  }
  may_have_free_.store(true, relaxed);
  policy_.store(policy, relaxed);
  lost_.store(0, relaxed);
  overwritten_until_.store(0, relaxed);
  std::uint32_t const number = trace_.load(relaxed) + 1;
  trace_.store(number, release);  // pairs with trace(): the memory is there
  return number;
}

chunk* chunk_pool::claim(std::uint32_t for_trace) noexcept {
  if (loses_new()) return claim_free();
  // In a trace of the flight recorder no chunk becomes free. But an event of the trace before may have cleared the flag
  // late.
  if (may_have_free_.load(relaxed)) {
    if (chunk* const found = claim_free()) return found;
    may_have_free_.store(false, relaxed);
  }
  chunk* const found = claim_oldest_full(for_trace);
  return found != nullptr ? found : claim_free();
}

chunk* chunk_pool::claim_free() noexcept {
  std::size_t at = next_.fetch_add(1U, relaxed) % count_;
  for (std::size_t i = 0; i < count_; ++i, at = at + 1 == count_ ? 0 : at + 1) {
    if (chunks_[at].try_claim_free()) return &chunks_[at];
  }
  return nullptr;
}

// Another stream may claim the oldest one first, so this tries a few times. A chunk that a reader holds is left out. So
// are chunks of a later trace, because the caller may have read the number of its trace long ago.
chunk* chunk_pool::claim_oldest_full(std::uint32_t for_trace) noexcept {
  constexpr int tries = 8;
  for (int i = 0; i < tries; ++i) {
    chunk* oldest = nullptr;
    std::uint64_t oldest_number = ~std::uint64_t{0};
    for (chunk& c : all()) {
      std::uint64_t const number = c.claimable_number();
      if (number == 0 || number >= oldest_number || c.trace.load(relaxed) > for_trace) continue;
      oldest = &c;
      oldest_number = number;
    }
    if (oldest == nullptr) return nullptr;
    if (!oldest->try_claim_full(oldest_number)) continue;
    if (oldest->trace.load(relaxed) == for_trace) note_overwritten(oldest->until_ticks.load(relaxed));
    clear(*oldest);
    return oldest;
  }
  return nullptr;
}

void chunk_pool::note_overwritten(std::uint64_t until_ticks) noexcept {
  std::uint64_t known = overwritten_until_.load(relaxed);
  while (known < until_ticks && !overwritten_until_.compare_exchange(known, until_ticks, relaxed, relaxed)) {
  }
}

void chunk_pool::clear(chunk& c) noexcept { std::memset(c.words, 0, chunk_bytes); }

void chunk_pool::fill(chunk& c) noexcept {
  c.until_ticks.store(ticks_now(), relaxed);
  c.has_become_full(last_full_.fetch_add(std::uint64_t{1}, relaxed) + 1);
}

// A late event of that trace may claim the chunk first, and then it is that stream's.
void chunk_pool::free_of_earlier_trace(chunk& c, std::uint32_t present) noexcept {
  std::uint64_t const number = c.claimable_number();
  if (number != 0 && c.trace.load(relaxed) != present && c.try_claim_full(number)) free(c);
}

// A stream that has found no chunk asks again when the number of frees has changed. So the chunk is free first.
void chunk_pool::free(chunk& c) noexcept {
  clear(c);
  c.is_read();
  frees_.fetch_add(1U, release);  // pairs with frees()
}

}  // namespace thrum::rt::trace
