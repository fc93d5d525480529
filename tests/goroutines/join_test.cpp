// T07: joining in place, seen from inside.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;
using test::scaled;
using test::this_g;
using test::this_p;
using test::this_sched;

std::uint64_t in_place() { return this_p().counters.joined_in_place.load(rt::relaxed); }

TEST(join_in_place_inside, T07_a_child_that_has_not_started_runs_on_its_joiner_s_stack_as_itself) {
  run_at(1, [] {
    local<int> variable;
    *variable = 1;
    this_goroutine::set_name("host");
    rt::G& host = this_g();
    auto child = spawn([&] {
      EXPECT_EQ(this_g().on, host.on);
      EXPECT_NE(this_goroutine::id(), host.id);
      EXPECT_EQ(this_goroutine::name(), "");
      EXPECT_EQ(*variable, 0);
      *variable = 2;
      return this_goroutine::id();
    });
    std::uint64_t const before = in_place();
    EXPECT_NE(child.join(), host.id);
    EXPECT_EQ(in_place(), before + 1);
    EXPECT_EQ(*variable, 1);
    EXPECT_EQ(this_goroutine::name(), "host");
    EXPECT_EQ(this_goroutine::id(), host.id);
  });
}

TEST(join_in_place_inside, T07_a_child_that_has_started_is_waited_for) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    auto child = spawn([] {
      thrum::yield();
      return 7;
    });
    thrum::yield();
    std::uint64_t const before = in_place();
    EXPECT_FALSE(child.done());
    EXPECT_EQ(child.join(), 7);
    EXPECT_EQ(in_place(), before);
  });
}

TEST(join_in_place_inside, T07_a_child_that_has_ended_is_only_asked) {
  run_at(1, [] {
    auto child = spawn([] { return 7; });
    thrum::yield();
    EXPECT_TRUE(child.done());
    EXPECT_EQ(child.join(), 7);
  });
}

// Each level joins the next one on its own stack, until there is no space for a full stack below. From there the chain
// continues on another stack.
int chain(int depth) {  // NOLINT(misc-no-recursion)
  if (depth == 0) return 0;
  return 1 + spawn([depth] { return chain(depth - 1); }).join();
}

TEST(join_in_place_inside, T07_a_deep_chain_uses_several_stacks_and_overflows_none) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    std::uint64_t const before = in_place();
    EXPECT_EQ(chain(2000), 2000);
    EXPECT_GT(in_place() - before, 100U);
    EXPECT_LT(in_place() - before, 2000U);
  });
}

TEST(join_in_place_inside, T07_the_entry_left_behind_is_dropped_and_the_record_used_again) {
  run_at(1, [] {
    auto const burst = [] {
      std::vector<join_handle<int>> children;
      for (int i = 0; i < 200; ++i) children.push_back(spawn([i] { return i; }));
      int sum = 0;
      for (auto& child : children) sum += child.join();
      EXPECT_EQ(sum, 199 * 200 / 2);
    };
    for (int i = 0; i < 10; ++i) burst();
    std::uint32_t const records = this_sched().records.gs_made();
    for (int i = 0; i < 200; ++i) burst();
    EXPECT_LE(this_sched().records.gs_made(), records + 512U) << "40,000 children later";
  });
}

class joins : public test::at_every_width {};

TEST_P(joins, T07_claims_race_with_starts_and_every_child_runs_exactly_once) {
  std::int64_t const rounds = scaled(2000, 50);
  run([&] {
    for (std::int64_t round = 0; round < rounds; ++round) {
      std::atomic<int> runs{0};
      std::vector<join_handle<int>> children;
      for (int i = 0; i < 8; ++i) {
        children.push_back(spawn([&runs, i] {
          ++runs;
          return i;
        }));
      }
      int sum = 0;
      for (auto& child : children) sum += child.join();
      ASSERT_EQ(sum, 28);
      ASSERT_EQ(runs.load(), 8);
    }
  });
}

TEST_P(joins, T07_hosted_children_may_park_and_be_stolen_with_their_host) {
  std::int64_t const rounds = scaled(200, 10);
  run([&] {
    mutex crowded;
    wait_group all;
    std::atomic<std::int64_t> sum{0};
    for (int i = 0; i < 16; ++i) {
      all.go([&] {
        for (std::int64_t round = 0; round < rounds; ++round) {
          std::uint64_t const me = this_goroutine::id();
          auto child = spawn([&] {
            std::uint64_t const mine = this_goroutine::id();
            thrum::yield();
            crowded.lock();
            thrum::yield();
            crowded.unlock();
            return this_goroutine::id() == mine ? 1 : 1000;
          });
          sum += child.join();
          if (this_goroutine::id() != me) sum += 1000;
        }
      });
    }
    all.wait();
    EXPECT_EQ(sum.load(), 16 * rounds);
  });
}

TEST_P(joins, T07_dropped_handles_detach_and_the_results_are_destroyed) {
  struct counted {
    explicit counted(std::atomic<int>& count) : alive(&count) { ++*alive; }
    counted(counted const& other) : alive(other.alive) { ++*alive; }
    counted& operator=(counted const&) = delete;
    ~counted() { --*alive; }
    std::atomic<int>* alive;
  };
  std::atomic<int> alive{0};
  std::atomic<int> ran{0};
  int const count = static_cast<int>(scaled(2000, 100));
  run([&] {
    for (int i = 0; i < count; ++i) {
      auto dropped = spawn([&] {
        ++ran;
        return counted(alive);
      });
      if (i % 3 == 0) thrum::yield();
    }
    EXPECT_TRUE(test::wait_until([&] { return ran == count && alive == 0 && num_goroutines() == 1; }));
  });
  EXPECT_EQ(ran.load(), count);
  EXPECT_EQ(alive.load(), 0);
}

THRUM_AT_EVERY_WIDTH(joins);

}  // namespace
}  // namespace thrum
