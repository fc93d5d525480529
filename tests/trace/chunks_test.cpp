// The memory of a trace: chunks and streams (core/trace_chunks.h, core/trace_stream.h), without a run.
#include "core/trace_chunks.h"
#include "core/trace_stream.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace thrum::rt::trace;

constexpr std::size_t streams = 4;

// Writes records of two words until the stream has begun another chunk, or has lost an event.
void fill_a_chunk(chunk_pool& pool, stream& its) {
  for (std::size_t i = 0; i < chunk::words_max / 2; ++i) its.write(pool, kind::log, 0, 0, std::uint64_t{i});
}

std::vector<chunk*> chunks_in(chunk_pool const& pool, chunk_state state) {
  std::vector<chunk*> found;
  for (chunk& c : pool.all()) {
    if (c.state() == state) found.push_back(&c);
  }
  return found;
}

class trace_chunks : public testing::Test {
 protected:
  trace_chunks() { EXPECT_EQ(0, pool.make(0, streams)); }

  // All chunks are claimed, so no stream gets one.
  void claim_the_rest() {
    while (pool.claim(1) != nullptr) {
    }
  }

  chunk_pool pool;
  stream one{1};
};

TEST_F(trace_chunks, a_chunk_that_is_held_is_not_used_again) {
  std::uint32_t const trace = pool.begin_trace(when_full::lose_old);
  one.write(pool, kind::log, 0, 0, std::uint64_t{4711});
  one.close(pool);
  chunk& oldest = *chunks_in(pool, chunk_state::full).at(0);
  {
    held_chunk const held(oldest, trace);
    ASSERT_TRUE(held);
    for (std::size_t i = 0; i < 3 * pool.all().size(); ++i) fill_a_chunk(pool, one);
    EXPECT_EQ(0U, pool.lost());
    EXPECT_EQ(0U, oldest.number);
    EXPECT_EQ(4711U, oldest.words[1]);
  }
  for (std::size_t i = 0; i < 3 * pool.all().size(); ++i) fill_a_chunk(pool, one);
  EXPECT_NE(0U, oldest.number);
}

// A stream looks for the oldest chunk, and claims it later.
TEST_F(trace_chunks, a_chunk_that_is_full_again_is_not_taken_for_the_oldest_one) {
  static_cast<void>(pool.begin_trace(when_full::lose_old));
  one.write(pool, kind::log, 0, 0, std::uint64_t{1});
  one.close(pool);
  chunk& oldest = *chunks_in(pool, chunk_state::full).at(0);
  std::uint64_t const seen = oldest.claimable_number();
  ASSERT_NE(0U, seen);
  while (oldest.claimable_number() == seen) fill_a_chunk(pool, one);  // other streams need room meanwhile
  while (oldest.state() != chunk_state::full) fill_a_chunk(pool, one);
  EXPECT_FALSE(oldest.try_claim_full(seen));
  EXPECT_TRUE(oldest.try_claim_full(oldest.full_number()));
}

TEST_F(trace_chunks, tells_until_when_records_were_overwritten) {
  static_cast<void>(pool.begin_trace(when_full::lose_old));
  one.write(pool, kind::log, 0, 0, std::uint64_t{1});
  one.close(pool);
  std::uint64_t const until = chunks_in(pool, chunk_state::full).at(0)->until_ticks.load(thrum::rt::relaxed);
  stream other{2};
  EXPECT_EQ(0U, pool.overwritten_until());
  while (pool.overwritten_until() == 0) fill_a_chunk(pool, other);
  EXPECT_EQ(until, pool.overwritten_until());  // the oldest one first
  static_cast<void>(pool.begin_trace(when_full::lose_old));
  EXPECT_EQ(0U, pool.overwritten_until());
}

TEST_F(trace_chunks, a_chunk_can_become_full_while_it_is_held) {
  std::uint32_t const trace = pool.begin_trace(when_full::lose_old);
  one.write(pool, kind::log, 0, 0, std::uint64_t{1});
  chunk& its = *chunks_in(pool, chunk_state::owned).at(0);
  {
    held_chunk const held(its, trace);
    ASSERT_TRUE(held);
    one.close(pool);
    EXPECT_EQ(chunk_state::full, its.state());
  }
  EXPECT_EQ(chunk_state::full, its.state());
}

TEST_F(trace_chunks, records_of_an_earlier_trace_are_not_held) {
  std::uint32_t const before = pool.begin_trace(when_full::lose_old);
  one.write(pool, kind::log, 0, 0, std::uint64_t{1});
  std::uint32_t const trace = pool.begin_trace(when_full::lose_old);
  chunk& its = *chunks_in(pool, chunk_state::owned).at(0);
  EXPECT_FALSE(held_chunk(its, trace));
  EXPECT_TRUE(held_chunk(its, before));
  one.write(pool, kind::log, 0, 0, std::uint64_t{2});
  EXPECT_TRUE(held_chunk(its, trace));
}

TEST_F(trace_chunks, every_stream_gets_a_chunk_however_little_memory_is_asked_for) {
  static_cast<void>(pool.begin_trace(when_full::lose_old));
  std::vector<std::unique_ptr<stream>> all;
  for (std::uint16_t i = 0; i < streams; ++i) {
    all.push_back(std::make_unique<stream>(i));
    all.back()->write(pool, kind::log, 0, 0, std::uint64_t{1});
  }
  for (int round = 0; round < 10; ++round) {
    for (auto const& each : all) fill_a_chunk(pool, *each);
  }
  EXPECT_EQ(0U, pool.lost());
}

TEST_F(trace_chunks, an_event_without_memory_is_lost_and_counted) {
  static_cast<void>(pool.begin_trace(when_full::lose_new));
  claim_the_rest();
  one.write(pool, kind::log, 0, 0, std::uint64_t{1});
  one.write(pool, kind::log, 0, 0, std::uint64_t{1});
  EXPECT_EQ(2U, pool.lost());
}

// The writer frees the only chunk. From then on the stream does not lose another event.
TEST_F(trace_chunks, a_stream_finds_a_chunk_as_soon_as_one_is_free) {
  constexpr std::uint32_t rounds = 200;
  static_cast<void>(pool.begin_trace(when_full::lose_new));
  one.write(pool, kind::log, 0, 0, std::uint64_t{1});
  chunk& only = *chunks_in(pool, chunk_state::owned).at(0);
  claim_the_rest();
  std::atomic<std::uint32_t> freed{0};
  std::atomic<bool> fails{false};
  std::thread writer([&] {
    for (std::uint32_t round = 1; round <= rounds && !fails; ++round) {
      while (only.state() != chunk_state::full && !fails) std::this_thread::yield();
      if (fails) break;
      pool.free(only);
      freed = round;
    }
  });
  for (std::uint32_t round = 1; round <= rounds && !fails; ++round) {
    one.close(pool);
    for (int attempt = 1;; ++attempt) {
      if (attempt % 256 == 0) std::this_thread::yield();  // there may be one CPU
      std::uint64_t const lost = pool.lost();
      bool const is_free = freed.load() == round;
      one.write(pool, kind::log, 0, 0, std::uint64_t{1});
      if (pool.lost() == lost) break;
      if (is_free) fails = true;
      if (fails) break;
    }
  }
  writer.join();
  EXPECT_FALSE(fails) << "an event was lost although a chunk was free";
}

}  // namespace
