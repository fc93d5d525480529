#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;
using test::scaled;

class wait_groups : public test::at_every_width {};

// Go's TestWaitGroup: sixteen tasks meet at one group and are let go by another.
TEST_P(wait_groups, SY_11_sixteen_pass_a_barrier_of_two_groups_eight_times) {
  run([&] {
    wait_group arrive;
    wait_group depart;
    for (int round = 0; round < 8; ++round) {
      constexpr int n = 16;
      arrive.add(n);
      depart.add(n);
      std::atomic<int> passed{0};
      for (int i = 0; i < n; ++i) {
        thrum::go([&] {
          arrive.done();
          depart.wait();
          ++passed;
        });
      }
      arrive.wait();
      for (int i = 0; i < n; ++i) {
        EXPECT_EQ(passed.load(), 0) << "no waiter passes before the last done()";
        depart.done();
      }
      EXPECT_TRUE(test::wait_until([&] { return passed == n; }));
    }
  });
}

TEST_P(wait_groups, SY_11_wait_never_returns_early) {
  run([&] {
    for (std::int64_t round = 0; round < scaled(10'000, 200); ++round) {
      wait_group all;
      int plain[4] = {};  // written without atomics: wait() orders them
      for (int i = 0; i < 4; ++i) {
        all.go([&plain, i] { plain[i] = i + 1; });
      }
      all.wait();
      for (int i = 0; i < 4; ++i) ASSERT_EQ(plain[i], i + 1);
    }
  });
}

TEST_P(wait_groups, all_waiters_are_released) {
  run([&] {
    wait_group gate;
    gate.add(1);
    wait_group all;
    std::atomic<int> waiting{0};
    std::atomic<int> released{0};
    for (int i = 0; i < 200; ++i) {
      all.go([&] {
        ++waiting;
        gate.wait();
        ++released;
      });
    }
    EXPECT_TRUE(test::wait_until([&] { return waiting == 200; }));
    EXPECT_EQ(released.load(), 0);
    gate.done();
    all.wait();
    EXPECT_EQ(released.load(), 200);
  });
}

TEST_P(wait_groups, T14_the_waiter_may_destroy_it_at_once) {
  run([&] {
    for (std::int64_t round = 0; round < scaled(50'000, 300); ++round) {
      auto all = std::make_unique<wait_group>();
      int const parties = static_cast<int>(round % 3) + 1;
      all->add(parties);
      for (int i = 0; i < parties; ++i) {
        thrum::go([group = all.get()] { group->done(); });
      }
      if (round % 5 == 0) thrum::yield();
      all->wait();
      all.reset();  // the last goroutine may be on its way out of done()
    }
  });
}

TEST_P(wait_groups, T14_the_last_of_many_waiters_may_destroy_it) {
  struct shared {
    wait_group gate;
    std::atomic<int> waiters{4};
  };
  run([&] {
    for (std::int64_t round = 0; round < scaled(5000, 100); ++round) {
      auto* const object = new shared;
      object->gate.add(1);
      wait_group all;
      for (int i = 0; i < 4; ++i) {
        all.go([object] {
          object->gate.wait();
          if (--object->waiters == 0) delete object;
        });
      }
      thrum::yield();
      object->gate.done();
      all.wait();
    }
  });
}

TEST_P(wait_groups, SY_11_a_count_below_zero_throws_and_changes_nothing) {
  run([&] {
    wait_group group;
    EXPECT_THROW(group.done(), std::logic_error);
    group.wait();  // still zero
    group.add(2);
    EXPECT_THROW(group.add(-3), std::logic_error);
    group.done();
    group.done();
    group.wait();
    EXPECT_THROW(group.done(), std::logic_error);

    group.add(1);
    std::atomic<bool> returned{false};
    std::atomic<bool> begun{false};
    wait_group all;
    all.go([&] {
      begun = true;
      group.wait();
      returned = true;
    });
    EXPECT_TRUE(test::wait_until([&] { return begun.load(); }));
    for (int i = 0; i < 10; ++i) thrum::yield();
    EXPECT_THROW(group.add(-2), std::logic_error) << "while a goroutine waits, too";
    EXPECT_FALSE(returned.load());
    group.done();
    all.wait();
    EXPECT_TRUE(returned.load());
  });
}

TEST_P(wait_groups, it_may_be_used_again) {
  run([&] {
    wait_group group;
    int ran = 0;
    for (int round = 0; round < 100; ++round) {
      group.go([&] { ++ran; });
      group.wait();
      EXPECT_EQ(ran, round + 1);
      group.wait();  // zero: returns at once
    }
  });
}

THRUM_AT_EVERY_WIDTH(wait_groups);

std::string message_of(std::function<void()> const& call) {
  try {
    call();
  } catch (std::logic_error const& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(wait_group_errors, say_what_was_wrong) {
  run_at(1, [] {
    wait_group group;
    EXPECT_NE(message_of([&] { group.done(); }).find("negative wait_group"), std::string::npos);
    for (std::int64_t const delta : {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
                                     std::numeric_limits<std::int64_t>::min() + 1}) {
      std::string const said = message_of([&] { group.add(delta); });
      EXPECT_NE(said.find("wait_group"), std::string::npos) << said;
    }
    group.wait();  // nothing was counted
    std::int64_t const many = (std::int64_t{1} << 46) - 1;
    group.add(many);
    group.add(many);
    group.add(1);
    group.add(-1);
    EXPECT_NE(message_of([&] { group.add(many); }), "nothing was thrown") << "beyond what can be counted";
    group.add(-many);
    group.add(-many);
    group.wait();
  });
}

// A goroutine that its run has left behind waits for a count that falls to zero later.
TEST(wait_group_errors, T12_what_an_earlier_run_waits_for_can_be_done_between_runs_and_in_the_next) {
  for (bool const between : {true, false}) {
    static wait_group* const group = new wait_group;  // the goroutine that stays behind refers to it
    group->add(2);
    run_at(1, [] {
      std::atomic<bool> waits = false;
      thrum::go([&waits] {
        waits = true;
        group->wait();
      });
      while (!waits) thrum::yield();
      thrum::yield();
    });
    if (between) {
      EXPECT_NO_THROW(group->done());
      EXPECT_NO_THROW(group->done());
      EXPECT_NO_THROW(group->wait()) << "the count is zero";
    } else {
      run_at(1, [] {
        thrum::go([] { group->done(); });
        thrum::go([] { group->done(); });
        group->wait();
      });
    }
  }
}

TEST(wait_group_errors, an_empty_callable_is_not_counted) {
  run_at(1, [] {
    wait_group group;
    EXPECT_THROW(group.go(std::function<void()>()), std::invalid_argument);
    void (*nothing)() = nullptr;
    EXPECT_THROW(group.go(nothing), std::invalid_argument);
    group.wait();
  });
}

TEST(wait_group_errors, outside_a_run_only_waiting_is_refused) {
  wait_group group;
  group.wait();
  group.add(1);
  std::string const said = message_of([&] { group.wait(); });
  EXPECT_NE(said.find("wait_group::wait"), std::string::npos) << said;
  group.done();
  group.wait();
}

}  // namespace
}  // namespace thrum
