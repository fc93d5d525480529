// The memory in which the records of a trace are collected: chunks of equal size, each of which one stream fills.
//
//   state        whose it is                                 next
//   free         no thread's                                 claimed, by a stream that needs a chunk
//   claimed      the stream that is setting it up            owned
//   owned        that stream writes records                  full, when the next record does not fit
//   full         no thread's: it waits to be written         being read; claimed, if the flight recorder needs room and
//                                                            no chunk is free
//   full and     a thread writes it to a file                free, or full if it is a snapshot of the flight recorder
//   being_read
//
// Every change is one atomic operation, so no thread waits for another, and no operation here allocates or takes a
// lock. The memory is made once in a run, and lives until the run's memory goes.
//
// A chunk begins with zeros. The first word of each record is written last, with release, so a thread that reads up to
// the first zero sees whole records, also while the owner writes.
#pragma once

#include "arch/ticks.h"
#include "base/atomic.h"
#include "core/trace_format.h"
#include "os/clock.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace thrum::rt::trace {

enum class chunk_state : std::uint32_t { free, claimed, owned, full, full_and_being_read };

// What becomes of full chunks if no chunk is free.
enum class when_full : std::uint8_t {
  lose_new,  // events are lost until the writer has written a chunk
  lose_old,  // the oldest full chunk is used again: the flight recorder
};

struct chunk {
  static constexpr std::size_t words_max = 4096;

  atomic<chunk_state> state{chunk_state::free};
  // The number of the trace that its records belong to. Written by the stream, after the chunk was cleared and the
  // fields below were set. A stream goes on with a chunk of an earlier trace, which stays `owned` meanwhile, so a
  // reader of the other fields looks at the state and at this number.
  atomic<std::uint32_t> trace{0};
  std::uint32_t number = 0;  // its number in its stream
  std::uint16_t stream = 0;
  std::uint64_t base_ticks = 0;
  std::uint64_t lost = 0;  // events that the stream had lost before
  // When it became full, in the order of all chunks. Written by the stream before it changes the state.
  atomic<std::uint64_t> filled_as{0};
  std::uint64_t* words = nullptr;  // fixed

  // Whether the chunk is in this state and has records of this trace.
  [[nodiscard]] bool is(chunk_state wanted, std::uint32_t of_trace) const noexcept {
    return state.load(acquire) == wanted && trace.load(acquire) == of_trace;  // pairs with stream::begin_chunk
  }
};

class chunk_pool {
 public:
  chunk_pool() noexcept = default;
  ~chunk_pool();
  chunk_pool(chunk_pool const&) = delete;
  chunk_pool& operator=(chunk_pool const&) = delete;

  // Called by one thread at a time. Returns 0 or the errno. Memory that is there already is kept, whatever its size.
  [[nodiscard]] int make(std::size_t bytes) noexcept;

  // Ticks of the processor's counter, or nanoseconds where it does not count steadily.
  [[nodiscard]] std::uint64_t ticks_now() const noexcept {
    return counter_is_steady_ ? counter_now() : static_cast<std::uint64_t>(os::monotonic_ns());
  }
  [[nodiscard]] bool counts_ticks() const noexcept { return counter_is_steady_; }

  // Begins a new trace, and returns its number. Called by one thread at a time, when no trace is being written.
  std::uint32_t begin_trace(when_full policy) noexcept;
  // The number of the trace for which records are wanted.
  [[nodiscard]] std::uint32_t trace() const noexcept { return trace_.load(acquire); }  // pairs with begin_trace

  // --- streams ---

  // A chunk that is claimed and all zeros. nullptr: there is none. Unless old chunks are lost, asking again is in vain
  // as long as `frees` has not changed since.
  [[nodiscard]] chunk* claim() noexcept;
  [[nodiscard]] bool loses_new() const noexcept { return policy_.load(relaxed) == when_full::lose_new; }
  [[nodiscard]] std::uint32_t frees() const noexcept { return frees_.load(relaxed); }
  // An event of this trace is lost.
  void count_lost() noexcept { lost_.fetch_add(std::uint64_t{1}, relaxed); }
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(relaxed); }
  void fill(chunk& c) noexcept;
  static void clear(chunk& c) noexcept;

  // --- the writer and the recorder ---

  [[nodiscard]] std::span<chunk> all() const noexcept { return {chunks_, count_}; }
  // Whether the chunk was full, so that it is the caller's until `keep` or `free`. No stream gets it meanwhile.
  [[nodiscard]] static bool try_to_read(chunk& c) noexcept;
  static void keep(chunk& c) noexcept;
  void free(chunk& c) noexcept;

 private:
  chunk* claim_oldest_full() noexcept;

  atomic<std::uint32_t> trace_{0};
  atomic<when_full> policy_{when_full::lose_new};
  atomic<std::uint32_t> next_{0};  // where the next search for a free chunk begins
  atomic<std::uint32_t> frees_{0};
  atomic<std::uint64_t> fills_{0};
  atomic<std::uint64_t> lost_{0};
  chunk* chunks_ = nullptr;
  std::size_t count_ = 0;
  std::size_t mapped_bytes_ = 0;
  bool const counter_is_steady_ = counter_is_steady();
};

}  // namespace thrum::rt::trace
