// The memory in which the records of a trace are collected: chunks of equal size, each of which one stream fills.
//
//   state     whose it is                           next
//   free      no thread's                           claimed, by a stream that needs a chunk
//   claimed   the stream that is setting it up      owned
//   owned     that stream writes records            full, when the next record does not fit
//   full      no thread's: it waits to be written   free, when the writer has written it; claimed, if no chunk is
//                                                   free and the flight recorder needs room
//
// Readers do not change the state. The writer is the only thread that takes full chunks of its trace away, so it reads
// them without more ado. In a trace of the flight recorder streams take full chunks, so each reader holds the chunk
// meanwhile (held_chunk): a full chunk that is held is not claimed.
//
// Chunks are numbered from 1 in the order in which they become full. A full chunk's state word has this number, so a
// stream that has chosen a chunk does not claim it if the chunk was used and became full again meanwhile.
//
// Every change is one atomic operation, so no thread waits for another, and no operation here allocates or takes a
// lock. The memory is made once in a run, and lives until the run's memory goes.
//
// A chunk begins with zeros. The first word of each record is written last, with release, so a thread that reads up to
// the first zero sees whole records, also while the owner writes.
#pragma once

#include "arch/ticks.h"
#include "base/atomic.h"
#include "base/platform.h"
#include "core/trace_format.h"
#include "os/clock.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

namespace thrum::rt::trace {

enum class chunk_state : std::uint8_t { free, claimed, owned, full };

// What becomes of full chunks if no chunk is free.
enum class when_full : std::uint8_t {
  lose_new,  // events are lost until the writer has written a chunk
  lose_old,  // the oldest full chunk is used again: the flight recorder
};

class chunk {
 public:
  static constexpr std::size_t words_max = 4096;

  // The number of the trace that its records belong to. Written by the stream, after the chunk was cleared and the
  // fields below were set. A stream goes on with a chunk of an earlier trace, which stays `owned` meanwhile, so a
  // reader of the other fields looks at the state and at this number.
  atomic<std::uint32_t> trace{0};
  std::uint32_t number = 0;  // its number in its stream
  std::uint16_t stream = 0;
  std::uint64_t base_ticks = 0;
  std::uint64_t lost = 0;  // events that the stream had lost before
  // When the chunk last became full. Written by the stream before it changes the state.
  atomic<std::uint64_t> until_ticks{0};
  std::uint64_t* words = nullptr;  // fixed

  // acquire pairs with stream::begin_chunk and fill: the fields and the records are there
  [[nodiscard]] chunk_state state() const noexcept { return state_in(word_.load(acquire)); }
  // Whether the chunk is in this state and has records of this trace.
  [[nodiscard]] bool is(chunk_state wanted, std::uint32_t of_trace) const noexcept {
    return state() == wanted && trace.load(acquire) == of_trace;  // pairs with stream::begin_chunk
  }

  // Its number among the full chunks. 0: it is not full.
  [[nodiscard]] std::uint64_t full_number() const noexcept {
    return word_.load(acquire) >> number_shift;
  }  // as state()

  // --- its stream ---

  [[nodiscard]] bool try_claim_free() noexcept { return try_claim(word_of(chunk_state::free)); }
  // Its number among the full chunks. 0: it is not full, or a reader holds it.
  [[nodiscard]] std::uint64_t claimable_number() const noexcept;
  // Fails if another stream has claimed the chunk since it had this number, also if it is full again.
  [[nodiscard]] bool try_claim_full(std::uint64_t number_then) noexcept { return try_claim(word_of_full(number_then)); }
  void is_set_up() noexcept { word_.store(word_of(chunk_state::owned), release); }  // pairs with state()
  void has_become_full(std::uint64_t its_number) noexcept;

  // --- its reader ---

  [[nodiscard]] bool try_hold() noexcept;
  void let_go() noexcept;
  void is_read() noexcept { word_.store(word_of(chunk_state::free), release); }  // pairs with try_claim

 private:
  // The lowest byte is the state, the next one counts the readers, and the rest is the number of a full chunk.
  static constexpr std::uint64_t one_reader = 0x100;
  static constexpr unsigned number_shift = 16;  // 48 bits are enough for decades
  static constexpr std::uint64_t word_of(chunk_state s) noexcept { return static_cast<std::uint64_t>(s); }
  static constexpr std::uint64_t word_of_full(std::uint64_t number) noexcept {
    return word_of(chunk_state::full) | number << number_shift;
  }
  static constexpr chunk_state state_in(std::uint64_t word) noexcept { return static_cast<chunk_state>(word & 0xffU); }
  [[nodiscard]] bool try_claim(std::uint64_t expected) noexcept;

  atomic<std::uint64_t> word_{word_of(chunk_state::free)};
};

// A chunk of a trace that a thread reads. While this object lives, no stream uses the chunk again, so its fields and
// its records stay. If a stream owns the chunk, more records are added. False: the chunk has no records of this trace.
class [[nodiscard]] held_chunk {
 public:
  held_chunk(chunk& c, std::uint32_t of_trace) noexcept;
  ~held_chunk() {
    if (its_ != nullptr) its_->let_go();
  }
  held_chunk(held_chunk const&) = delete;
  held_chunk& operator=(held_chunk const&) = delete;

  [[nodiscard]] explicit operator bool() const noexcept { return its_ != nullptr; }

 private:
  chunk* its_;
};

// Puts things with a stream and a number in the order in which the streams were written, one stream behind the other.
template <class Things>
void sort_by_stream(Things& all) noexcept {
  std::sort(all.begin(), all.end(),
            [](auto const& a, auto const& b) { return std::tie(a.stream, a.number) < std::tie(b.stream, b.number); });
}

class chunk_pool {
 public:
  chunk_pool() noexcept = default;
  ~chunk_pool();
  chunk_pool(chunk_pool const&) = delete;
  chunk_pool& operator=(chunk_pool const&) = delete;

  // Called by one thread at a time. Returns 0 or the errno. There are at least two chunks for each of `streams`,
  // because a stream keeps the chunk that it writes, however rarely it does. Memory that is there already is kept,
  // whatever its size.
  [[nodiscard]] int make(std::size_t bytes, std::size_t streams) noexcept;

  // Ticks of the processor's counter, or nanoseconds where it does not count steadily.
  [[nodiscard]] std::uint64_t ticks_now() const noexcept {
    return counter_is_steady_ ? counter_now() : static_cast<std::uint64_t>(os::monotonic_ns());
  }
  [[nodiscard]] bool counts_ticks() const noexcept { return counter_is_steady_; }

  // Begins a new trace, and returns its number. Called by one thread at a time, when no trace is being written.
  std::uint32_t begin_trace(when_full policy) noexcept;
  // The number of the trace for which records are wanted.
  [[nodiscard]] std::uint32_t trace() const noexcept { return trace_.load(acquire); }  // pairs with begin_trace
  // The same for a stream that only asks whether its chunk is one of that trace.
  [[nodiscard]] std::uint32_t trace_hint() const noexcept { return trace_.load(relaxed); }

  // --- streams ---

  // A chunk that is claimed and all zeros, for records of this trace. nullptr: there is none. Unless old chunks are
  // lost, asking again is in vain as long as `frees`, read before, has not changed since.
  [[nodiscard]] chunk* claim(std::uint32_t for_trace) noexcept;
  [[nodiscard]] bool loses_new() const noexcept { return policy_.load(relaxed) == when_full::lose_new; }
  [[nodiscard]] std::uint32_t frees() const noexcept { return frees_.load(acquire); }  // pairs with free
  // An event of this trace is lost.
  void count_lost() noexcept { lost_.fetch_add(std::uint64_t{1}, relaxed); }
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(relaxed); }
  // Events up to this moment may be missing, because the flight recorder has used their chunks again. 0: none are. Such
  // a chunk counts here before it becomes `owned` again: a thread that finds it `claimed` looks at until_ticks itself.
  [[nodiscard]] std::uint64_t overwritten_until() const noexcept {
    return overwritten_until_.load(relaxed);  // chunk::state() has ordered it
  }
  void fill(chunk& c) noexcept;
  static void clear(chunk& c) noexcept;

  // --- the writer and the recorder ---

  [[nodiscard]] std::span<chunk> all() const noexcept { return {chunks_, count_}; }
  // The caller has read a full chunk. Not for traces of the flight recorder.
  void free(chunk& c) noexcept;
  // Frees a full chunk, unless it is one of this trace.
  void free_of_earlier_trace(chunk& c, std::uint32_t present) noexcept;

 private:
  chunk* claim_free() noexcept;
  chunk* claim_oldest_full(std::uint32_t for_trace) noexcept;
  void note_overwritten(std::uint64_t until_ticks) noexcept;

  // read at each event
  atomic<std::uint32_t> trace_{0};
  bool const counter_is_steady_ = counter_is_steady();
  atomic<when_full> policy_{when_full::lose_new};
  chunk* chunks_ = nullptr;
  std::size_t count_ = 0;
  std::size_t mapped_bytes_ = 0;

  // written by every stream that needs a chunk
  alignas(cache_line_bytes) atomic<std::uint32_t> next_{0};  // where the next search for a free chunk begins
  atomic<bool> may_have_free_{true};
  atomic<std::uint32_t> frees_{0};
  atomic<std::uint64_t> last_full_{0};  // the number of the chunk that became full last
  atomic<std::uint64_t> overwritten_until_{0};
  atomic<std::uint64_t> lost_{0};
};

}  // namespace thrum::rt::trace
