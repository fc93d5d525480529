#include "core/trace_chunks.h"

#include "os/memory.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace thrum::rt::trace {
namespace {

constexpr std::size_t chunk_bytes = chunk::words_max * sizeof(std::uint64_t);

std::size_t round_up(std::size_t bytes, std::size_t to) noexcept { return (bytes + to - 1) / to * to; }

}  // namespace

chunk_pool::~chunk_pool() {
  if (chunks_ != nullptr) os::unmap(reinterpret_cast<char*>(chunks_), mapped_bytes_);
}

int chunk_pool::make(std::size_t bytes) noexcept {
  if (chunks_ != nullptr) return 0;
  constexpr std::size_t bytes_max = std::size_t{1} << 36U;
  constexpr std::size_t bytes_min = 16 * chunk_bytes;
  std::size_t const count = std::clamp(bytes, bytes_min, bytes_max) / chunk_bytes;
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
    if (try_to_read(c)) free(c);
  }
  policy_.store(policy, relaxed);
  lost_.store(0, relaxed);
  std::uint32_t const number = trace_.load(relaxed) + 1;
  trace_.store(number, release);  // pairs with trace(): the memory is there
  return number;
}

chunk* chunk_pool::claim() noexcept {
  auto const count = static_cast<std::uint32_t>(count_);
  std::uint32_t const first = next_.fetch_add(1U, relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    chunk& c = chunks_[(first + i) % count];
    chunk_state expected = chunk_state::free;
    if (c.state.load(relaxed) != expected) continue;
    if (c.state.compare_exchange(expected, chunk_state::claimed, acquire, relaxed)) return &c;  // pairs with free
  }
  return policy_.load(relaxed) == when_full::lose_old ? claim_oldest_full() : nullptr;
}

// Another stream may claim the oldest one first, so this tries a few times.
chunk* chunk_pool::claim_oldest_full() noexcept {
  constexpr int tries = 8;
  for (int i = 0; i < tries; ++i) {
    chunk* oldest = nullptr;
    std::uint64_t oldest_as = 0;
    for (chunk& c : all()) {
      if (c.state.load(acquire) != chunk_state::full) continue;  // pairs with fill
      std::uint64_t const filled_as = c.filled_as.load(relaxed);
      if (oldest == nullptr || filled_as < oldest_as) {
        oldest = &c;
        oldest_as = filled_as;
      }
    }
    if (oldest == nullptr) return nullptr;
    chunk_state expected = chunk_state::full;
    if (!oldest->state.compare_exchange(expected, chunk_state::claimed, acquire, relaxed)) continue;
    clear(*oldest);
    return oldest;
  }
  return nullptr;
}

void chunk_pool::clear(chunk& c) noexcept { std::memset(c.words, 0, chunk_bytes); }

void chunk_pool::fill(chunk& c) noexcept {
  c.filled_as.store(fills_.fetch_add(std::uint64_t{1}, relaxed), relaxed);
  c.state.store(chunk_state::full, release);  // pairs with the writer's load: its records are there
}

bool chunk_pool::try_to_read(chunk& c) noexcept {
  auto expected = chunk_state::full;
  // pairs with fill: the records are there
  return c.state.compare_exchange(expected, chunk_state::full_and_being_read, acquire, relaxed);
}

void chunk_pool::keep(chunk& c) noexcept { c.state.store(chunk_state::full, release); }

void chunk_pool::free(chunk& c) noexcept {
  clear(c);
  frees_.fetch_add(1U, relaxed);
  c.state.store(chunk_state::free, release);  // pairs with claim: its records have been read
}

}  // namespace thrum::rt::trace
