#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::scaled;

class onces : public test::at_every_width {};

TEST_P(onces, SY_10_ten_racing_callers_run_it_once_and_all_see_its_effect) {
  std::atomic<int> wrong{0};
  run([&] {
    for (std::int64_t round = 0; round < scaled(2000, 50); ++round) {
      once init;
      int runs = 0;  // plain: call() orders it
      int effect = 0;
      wait_group all;
      for (int i = 0; i < 10; ++i) {
        all.go([&] {
          init.call([&] {
            ++runs;
            if (round % 2 == 0) thrum::yield();
            effect = 42;
          });
          if (runs != 1 || effect != 42) ++wrong;
        });
      }
      all.wait();
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(onces, callers_that_come_while_it_runs_wait_parked) {
  run([&] {
    once init;
    wait_group inside;
    inside.add(1);
    std::atomic<bool> begun{false};
    std::atomic<int> returned{0};
    wait_group all;
    all.go([&] {
      init.call([&] {
        begun = true;
        inside.wait();
      });
      ++returned;
    });
    EXPECT_TRUE(test::wait_until([&] { return begun.load(); }));
    for (int i = 0; i < 100; ++i) {  // more than there are Ps: this P is still there to release them
      all.go([&] {
        init.call([] { ADD_FAILURE() << "a second run"; });
        ++returned;
      });
    }
    for (int i = 0; i < 200; ++i) thrum::yield();
    EXPECT_EQ(returned.load(), 0);
    inside.done();
    all.wait();
    EXPECT_EQ(returned.load(), 101);
  });
}

TEST_P(onces, SY_10_one_that_throws_counts_as_done_and_its_caller_gets_the_exception) {
  run([&] {
    once init;
    std::atomic<bool> begun{false};
    std::atomic<int> caught{0};
    std::atomic<int> quiet{0};
    wait_group all;
    all.go([&] {
      try {
        init.call([&] {
          begun = true;
          for (int i = 0; i < 50; ++i) thrum::yield();
          throw std::runtime_error("init failed");
        });
      } catch (std::runtime_error const&) {
        ++caught;
      }
    });
    EXPECT_TRUE(test::wait_until([&] { return begun.load(); }));
    for (int i = 0; i < 10; ++i) {
      all.go([&] {
        init.call([] { ADD_FAILURE() << "it counts as done"; });
        ++quiet;
      });
    }
    all.wait();
    EXPECT_EQ(caught.load(), 1);
    EXPECT_EQ(quiet.load(), 10);
  });
}

TEST_P(onces, SY_10_one_that_leaves_by_goexit_counts_as_done) {
  run([&] {
    once init;
    wait_group all;
    all.go([&] {
      init.call([] {
        thrum::yield();
        goexit();
      });
      ADD_FAILURE() << "goexit returned";
    });
    thrum::yield();
    all.wait();
    init.call([] { ADD_FAILURE() << "a second run"; });
  });
}

TEST_P(onces, T14_the_goroutine_that_returns_last_may_destroy_it_at_once) {
  struct shared {
    once init;
    std::atomic<int> callers{3};
  };
  run([&] {
    for (std::int64_t round = 0; round < scaled(20'000, 300); ++round) {
      auto* const object = new shared;
      auto const use = [object, round] {
        object->init.call([round] {
          if (round % 2 == 0) thrum::yield();
        });
        if (--object->callers == 0) delete object;
      };
      wait_group all;
      all.go(use);
      all.go(use);
      use();
      all.wait();
    }
  });
}

THRUM_AT_EVERY_WIDTH(onces);

TEST(once_outside, a_call_outside_a_run_runs_it) {
  once init;
  int runs = 0;
  init.call([&] { ++runs; });
  init.call([&] { ++runs; });
  EXPECT_EQ(runs, 1);
  test::run_at(1, [&] { init.call([&] { ++runs; }); });
  EXPECT_EQ(runs, 1);
}

TEST(once_outside, one_that_would_have_to_wait_outside_a_run_is_refused) {
  once init;
  init.call([&] {
    std::thread([&] {
      try {
        init.call([] { ADD_FAILURE() << "it runs already"; });
        ADD_FAILURE() << "nothing was thrown";
      } catch (std::logic_error const& e) {
        EXPECT_NE(std::string(e.what()).find("once::call"), std::string::npos) << e.what();
      }
    }).join();
  });
}

TEST(once_outside, a_thread_that_began_it_before_the_run_wakes_the_goroutines_that_wait_for_it) {
  once init;
  std::atomic<bool> has_begun{false};
  std::atomic<bool> may_end{false};
  int value = 0;
  std::thread outside([&] {
    init.call([&] {
      has_begun = true;
      while (!may_end) std::this_thread::yield();
      value = 1;
    });
  });
  while (!has_begun) std::this_thread::yield();
  test::run_at(2, [&] {
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&] {
        init.call([] { ADD_FAILURE() << "it runs already"; });
        EXPECT_EQ(value, 1);
      });
    }
    EXPECT_TRUE(test::wait_until([] { return test::waiting_for(rt::wait_reason::once) == 4; }));
    may_end = true;
    all.wait();
  });
  outside.join();
}

}  // namespace
}  // namespace thrum
