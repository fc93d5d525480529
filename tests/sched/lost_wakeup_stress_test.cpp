// No wake-up is ever lost (S10, S13, SC-16). Goroutines park and ready each other across Ps ten million times, or a
// hundred million times with THRUM_TEST_LONG=1.
//
// A lost wake-up shows in one of three ways:
// - All threads sleep beside a runnable goroutine. The scheduler's own check ends the program.
// - A round makes no progress. The watchdog ends the program.
// - Another P would run the goroutine sooner or later, which would hide the loss. There the waker keeps its P and
//   spins until the woken goroutine answers, so no other P can help.
#include "support/baton.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/mutex.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

// Each park with its ready is a round. All tests of this file together, over all widths: a little more than this.
std::int64_t rounds(double share) {
  std::int64_t const all = is_long() ? 100'000'000 : 10'000'000;
  constexpr double widths = 3;
  return scaled(static_cast<std::int64_t>(static_cast<double>(all) * share / widths), 500);
}

// What a goroutine does before it passes on: mostly nothing, so that the hand-over is as quick as can be; else it stays
// away for a while, so that its partner's P runs dry, searches and gives up at the very moment of the wake-up.
void think(rt::random_source& random) {
  std::uint64_t const what = random.next();
  switch (what % 64) {
    case 0: yield(); break;
    case 1: rt::os::yield_thread(); break;
    case 2:
    case 3:
    case 4:
      for (std::uint64_t i = 0; i < (what >> 32U) % 256; ++i) rt::cpu_relax();
      break;
    default: break;
  }
}

// As spin_until, but without system calls at first, because a goroutine on another CPU may wait for this one.
template <class Predicate>
bool spin_closely_until(Predicate holds) {
  for (int i = 0; i < 500; ++i) {
    if (holds()) return true;
    rt::cpu_relax();
  }
  return spin_until(holds);
}

class lost_wakeup : public testing::TestWithParam<int> {
 protected:
  lost_wakeup() : seed_(test_seed()) {}
  [[nodiscard]] static int procs() { return GetParam(); }
  [[nodiscard]] rt::random_source nth(std::uint64_t n) const { return nth_random(seed_, n); }

 private:
  std::uint64_t const seed_;
};

THRUM_AT_WIDTHS(lost_wakeup, 2, 4, 16);

TEST_P(lost_wakeup, S13_pairs_that_wake_each_other) {
  int const pairs = procs();
  std::int64_t const each = rounds(0.5) / (2 * pairs) + 1;
  struct pair {
    baton there;
    baton back;
    std::int64_t value = 0;  // handed to and fro with the batons
  };
  std::deque<pair> all(static_cast<std::size_t>(pairs));
  run_at(procs(), [&] {
    wait_group ended;
    std::uint64_t number = 0;
    for (pair& p : all) {
      ended.go([&p, each, random = nth(number++)]() mutable {
        for (std::int64_t i = 0; i < each; ++i) {
          p.value += 1;
          p.there.pass();
          think(random);
          p.back.take();
        }
      });
      ended.go([&p, each, random = nth(number++)]() mutable {
        for (std::int64_t i = 0; i < each; ++i) {
          p.there.take();
          p.value += 1;
          think(random);
          p.back.pass();
        }
      });
    }
    ended.wait();
  });
  for (pair const& p : all) EXPECT_EQ(p.value, 2 * each);
}

// Fewer runnable goroutines than Ps: between two hand-overs a P is always about to go idle.
TEST_P(lost_wakeup, S13_a_ring_with_few_tokens) {
  int const size = 2 * procs();
  int const tokens = procs() / 4 + 1;
  std::int64_t const laps = rounds(0.25) / (size * tokens) + 1;
  std::deque<baton> ring(static_cast<std::size_t>(size));
  std::vector<std::int64_t> seen(static_cast<std::size_t>(size), 0);
  run_at(procs(), [&] {
    wait_group ended;
    // Only one token may lie between two neighbours: a node passes on when the place after it is free, which a second
    // ring tells, running the other way.
    std::deque<baton> free_place(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < ring.size(); ++i) {
      bool const starts_here = i % 2 == 0 && i / 2 < static_cast<std::size_t>(tokens);
      (starts_here ? ring : free_place)[i].pass();
    }
    for (std::size_t i = 0; i < ring.size(); ++i) {
      ended.go([&, i, random = nth(i)]() mutable {
        std::size_t const next = (i + 1) % ring.size();
        for (std::int64_t k = 0; k < laps * tokens; ++k) {
          ring[i].take();
          free_place[i].pass();
          seen[i] += 1;
          think(random);
          free_place[next].take();
          ring[next].pass();
        }
      });
    }
    // Every node passes on as often as it takes, so the tokens end where they began, and the last batons stay there.
    ended.wait();
  });
  for (std::int64_t const count : seen) EXPECT_EQ(count, laps * tokens);
}

// The waker keeps its P and spins, so only a P that was idle can run the goroutine that it woke. No other M makes up
// for a wake-up that is lost.
TEST_P(lost_wakeup, SC16_the_waker_keeps_its_P_until_the_woken_one_answers) {
  std::int64_t const each = rounds(0.02);
  run_at(procs(), [&] {
    baton call;
    rt::atomic<std::int64_t> answered{0};
    wait_group ended;
    ended.go([&] {
      for (std::int64_t i = 1; i <= each; ++i) {
        call.take();
        answered.store(i, rt::release);
      }
    });
    rt::random_source random = nth(0);
    std::int64_t lost = 0;
    for (std::int64_t i = 1; i <= each && lost == 0; ++i) {
      // Up to some microseconds, so that the other P's last search is still on, is just ending, or is over.
      for (std::uint32_t pause = random.below(300); pause > 0; --pause) rt::cpu_relax();
      call.pass();
      if (!spin_closely_until([&] { return answered.load(rt::acquire) == i; })) lost = i;
    }
    ASSERT_EQ(lost, 0) << "a goroutine stayed runnable beside " << procs() - 1 << " idle Ps";
    ended.wait();
  });
}

// The same for a goroutine that is new.
TEST_P(lost_wakeup, SC16_a_new_goroutine_runs_while_its_maker_keeps_its_P) {
  std::int64_t const each = rounds(0.02);
  run_at(procs(), [&] {
    rt::random_source random = nth(0);
    rt::atomic<std::int64_t> ran{0};
    std::int64_t lost = 0;
    for (std::int64_t i = 1; i <= each && lost == 0; ++i) {
      for (std::uint32_t pause = random.below(300); pause > 0; --pause) rt::cpu_relax();
      go([&ran] { ran.fetch_add(1, rt::release); });
      if (!spin_closely_until([&] { return ran.load(rt::acquire) == i; })) lost = i;
    }
    ASSERT_EQ(lost, 0) << "a new goroutine stayed runnable beside " << procs() - 1 << " idle Ps";
  });
}

// A goroutine that yields is in no queue for a moment, and an M that searches just then finds nothing. In this test the
// next goroutine keeps the P until the goroutine that yielded has continued, so another P must have been woken. The
// next goroutines do not end before the test does, so each needs a fresh stack, which makes the moment long.
TEST_P(lost_wakeup, SC16_a_yielder_comes_back_while_its_successor_keeps_the_P) {
  std::int64_t const each = scaled(is_long() ? 300'000 : 30'000, 500);
  run_at(procs(), [&] {
    rt::random_source random = nth(0);
    rt::atomic<std::int64_t> came_back{0};
    rt::atomic<std::int64_t> lost{0};
    rt::atomic<std::int64_t> answered{0};
    wait_group over;
    over.add(1);
    wait_group successors;
    for (std::int64_t i = 1; i <= each && lost.load(rt::relaxed) == 0; ++i) {
      for (std::uint32_t pause = random.below(1U << random.below(10)); pause > 0; --pause) rt::cpu_relax();
      successors.go([&, i] {
        if (!spin_closely_until([&] { return came_back.load(rt::acquire) == i; })) lost.store(i, rt::relaxed);
        answered.store(i, rt::release);
        over.wait();
      });
      yield();
      came_back.store(i, rt::release);
      if (!spin_closely_until([&] { return answered.load(rt::acquire) == i; })) break;
    }
    over.done();
    successors.wait();
    ASSERT_EQ(lost.load(rt::relaxed), 0) << "a goroutine that yielded stayed runnable beside an idle P";
    ASSERT_EQ(answered.load(rt::acquire), each);
  });
}

TEST_P(lost_wakeup, S13_a_mutex_that_all_want) {
  int const goroutines = 4 * procs();
  std::int64_t const each = rounds(0.1) / goroutines + 1;
  mutex guard;
  std::int64_t count = 0;  // under guard
  run_at(procs(), [&] {
    wait_group ended;
    for (int i = 0; i < goroutines; ++i) {
      ended.go([&, random = nth(static_cast<std::uint64_t>(i))]() mutable {
        for (std::int64_t k = 0; k < each; ++k) {
          std::lock_guard const held(guard);
          ++count;
          think(random);
        }
      });
    }
    ended.wait();
  });
  EXPECT_EQ(count, goroutines * each);
}

// A wait_group as a gate: one waits for a crowd, again and again, while the crowd's members start and end.
TEST_P(lost_wakeup, S13_a_wait_group_that_is_waited_for_again_and_again) {
  int const crowd = procs() + 1;
  std::int64_t const turns = rounds(0.1) / crowd + 1;
  std::int64_t ran = 0;
  run_at(procs(), [&] {
    rt::atomic<std::int64_t> count{0};
    rt::random_source random = nth(0);
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      wait_group members;
      for (int i = 0; i < crowd; ++i) {
        members.go([&count, mine = rt::random_source(random.next())]() mutable {
          think(mine);
          count.fetch_add(1, rt::relaxed);  // relaxed: the wait_group orders it
        });
      }
      members.wait();
    }
    ran = count.load(rt::relaxed);
  });
  EXPECT_EQ(ran, turns * crowd);
}

// The end of the child wakes the joiner. The children are stolen, claimed or found finished.
TEST_P(lost_wakeup, T11_joins_of_children_that_others_may_have_begun) {
  std::int64_t const turns = rounds(0.05) / 4 + 1;
  run_at(procs(), [&] {
    wait_group ended;
    for (int i = 0; i < procs(); ++i) {
      ended.go([&, random = nth(static_cast<std::uint64_t>(i))]() mutable {
        std::int64_t const mine = turns / procs() + 1;
        for (std::int64_t turn = 0; turn < mine; ++turn) {
          std::vector<join_handle<std::int64_t>> children;
          for (std::int64_t k = 0; k < 4; ++k) {
            children.push_back(spawn([k, its = rt::random_source(random.next())]() mutable {
              think(its);
              return k;
            }));
          }
          think(random);
          std::int64_t sum = 0;
          for (auto& child : children) sum += child.join();
          ASSERT_EQ(sum, 6);
        }
      });
    }
    ended.wait();
  });
}

}  // namespace
}  // namespace thrum::test
