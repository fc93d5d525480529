// No goroutine is lost and none runs twice, however often the run queues overflow and thieves empty them (S07, S11,
// S12). Every goroutine crosses its own name off a list.
#include "base/atomic.h"
#include "support/baton.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include <thrum/go.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class list_of_names {
 public:
  explicit list_of_names(std::int64_t size)
      : size_(size), crossed_off_(new rt::atomic<std::uint8_t>[static_cast<std::size_t>(size)]) {}

  void cross_off(std::int64_t name) {
    crossed_off_[static_cast<std::size_t>(name)].fetch_add(1, rt::relaxed);  // looked at when all have ended
  }

  [[nodiscard]] std::int64_t size() const { return size_; }

  // How many were crossed off never, and how many more than once.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> faults() const {
    std::int64_t missing = 0;
    std::int64_t twice = 0;
    for (std::int64_t i = 0; i < size_; ++i) {
      auto const times = crossed_off_[static_cast<std::size_t>(i)].load(rt::relaxed);
      missing += times == 0 ? 1 : 0;
      twice += times > 1 ? 1 : 0;
    }
    return {missing, twice};
  }

 private:
  std::int64_t const size_;
  std::unique_ptr<rt::atomic<std::uint8_t>[]> const crossed_off_;
};

// (procs, capacity of the run queues)
class queues : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  [[nodiscard]] static int procs() { return std::get<0>(GetParam()); }
  template <class F>
  static void run(F body) {
    run_with({.max_procs = procs(), .local_queue_capacity = std::get<1>(GetParam())}, std::move(body));
  }
};

INSTANTIATE_TEST_SUITE_P(at, queues, testing::Combine(testing::Values(1, 2, 8, 64), testing::Values(4, 256)),
                         [](auto const& chosen) {
                           return "P" + std::to_string(std::get<0>(chosen.param)) + "_queue" +
                                  std::to_string(std::get<1>(chosen.param));
                         });

TEST_P(queues, S07_one_maker_overflows_its_run_queue_while_others_steal) {
  list_of_names names(scaled(500'000, 2000));
  std::uint64_t overflows = 0;
  run([&] {
    wait_group ended;
    ended.add(names.size());
    for (std::int64_t i = 0; i < names.size(); ++i) {
      go([&names, &ended, i] {
        names.cross_off(i);
        if (i % 3 == 0) yield();
        ended.done();
      });
      if (i % 4096 == 0) yield();
    }
    ended.wait();
    for (auto const& p : read_stats().procs) overflows += p.overflows;
  });
  EXPECT_EQ(names.faults(), std::pair(std::int64_t{0}, std::int64_t{0}));
  EXPECT_GT(overflows, 0U);
}

// Makers everywhere: each goroutine halves its share of the list until one name is left.
void halve(list_of_names& names, std::int64_t from, std::int64_t to, wait_group& ended) {
  while (to - from > 1) {
    std::int64_t const middle = from + (to - from) / 2;
    go([&names, middle, to, &ended] { halve(names, middle, to, ended); });
    to = middle;
  }
  names.cross_off(from);
  ended.done();
}

TEST_P(queues, S12_makers_and_thieves_on_every_P) {
  list_of_names names(scaled(500'000, 2000));
  run([&] {
    wait_group ended;
    ended.add(names.size());
    halve(names, 0, names.size(), ended);
    ended.wait();
  });
  EXPECT_EQ(names.faults(), std::pair(std::int64_t{0}, std::int64_t{0}));
}

// Goroutines that were parked come back through ready and, as a crowd, through inject.
TEST_P(queues, S39_crowds_that_are_released_together_run_once_each) {
  constexpr std::int64_t crowd = 1000;
  std::int64_t const rounds = scaled(200, 3);
  list_of_names names(crowd * rounds);
  run([&] {
    for (std::int64_t round = 0; round < rounds; ++round) {
      wait_group gate;
      gate.add(1);
      wait_group ended;
      for (std::int64_t i = 0; i < crowd; ++i) {
        ended.go([&, name = round * crowd + i] {
          gate.wait();
          names.cross_off(name);
        });
      }
      if (round % 2 == 0) {
        for (int i = 0; i < 20; ++i) yield();  // most of them wait by now
      }
      gate.done();
      ended.wait();
    }
  });
  EXPECT_EQ(names.faults(), std::pair(std::int64_t{0}, std::int64_t{0}));
}

// Entries of children that were joined in place stay behind in the run queues, and must neither run nor fill them for
// good.
TEST_P(queues, T07_stale_entries_are_dropped_and_the_living_run_once) {
  constexpr std::int64_t brood = 2000;
  std::int64_t const rounds = scaled(100, 2);
  std::uint64_t const seed = test_seed();
  list_of_names names(brood * rounds * procs());
  run([&] {
    wait_group parents;
    for (int p = 0; p < procs(); ++p) {
      parents.go([&, p, random = nth_random(seed, static_cast<std::uint64_t>(p))]() mutable {
        for (std::int64_t round = 0; round < rounds; ++round) {
          std::int64_t const first = (p * rounds + round) * brood;
          std::vector<join_handle<std::int64_t>> children;
          children.reserve(brood);
          for (std::int64_t i = 0; i < brood / procs(); ++i) {
            children.push_back(spawn([&names, name = first + i] {
              names.cross_off(name);
              return name;
            }));
          }
          // Half of them are joined, in random order; the others are left to themselves.
          for (std::size_t left = children.size(), joins = left / 2; joins > 0; --joins, --left) {
            std::size_t const chosen = random.below(static_cast<std::uint32_t>(left));
            std::swap(children[chosen], children[left - 1]);
            std::int64_t const name = children[left - 1].join();
            ASSERT_GE(name, first);
            ASSERT_LT(name, first + brood);
          }
        }
      });
    }
    parents.wait();
    while (num_goroutines() > 1) yield();
  });
  auto const [missing, twice] = names.faults();
  EXPECT_EQ(twice, 0);
  EXPECT_EQ(missing, (brood - brood / procs()) * rounds * procs());
}

}  // namespace
}  // namespace thrum::test
