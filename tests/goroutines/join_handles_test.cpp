// Join handles that are dropped, assigned over or kept beyond their run (T07).
#include "base/atomic.h"
#include "goroutines/join_in_place.h"
#include "support/baton.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

struct counts {
  rt::atomic<int> alive{0};
  rt::atomic<int> made{0};
};

// Counts the objects that are made and destroyed. If each is destroyed exactly once, `alive` returns to zero and is
// never less.
class counted {
 public:
  explicit counted(counts& in) : in_(&in) {
    in_->alive.fetch_add(1, rt::acq_rel);
    in_->made.fetch_add(1, rt::acq_rel);
  }
  counted(counted&& other) noexcept : in_(other.in_) { in_->alive.fetch_add(1, rt::acq_rel); }
  counted& operator=(counted&&) = delete;
  ~counted() {
    EXPECT_EQ(canary_, alive_canary);
    canary_ = 0;
    EXPECT_GE(in_->alive.fetch_sub(1, rt::acq_rel), 1);
  }

 private:
  static constexpr std::uint64_t alive_canary = 0x6f6b6179;
  counts* in_;
  std::uint64_t canary_ = alive_canary;
};

TEST_P(join_in_place, T07_a_dropped_handle_destroys_the_result_once_before_during_and_after) {
  run([&] {
    counts results;
    counts captured;
    constexpr int each = 50;
    for (int i = 0; i < each; ++i) {
      // Before the child starts, as far as the joiner knows.
      {
        auto const dropped = spawn([&, c = counted(captured)] { return counted(results); });
      }
      // during: it waits
      {
        baton begun;
        baton b;
        {
          auto const dropped = spawn([&, c = counted(captured)] {
            begun.pass();
            b.take();
            return counted(results);
          });
          begun.take();
          EXPECT_FALSE(dropped.done());
        }
        b.pass();
        // The child's frame refers to the frame of this function.
        ASSERT_TRUE(wait_until([&] { return num_goroutines() == 1 && captured.alive.load(rt::acquire) == 0; }));
      }
      // after
      {
        auto const dropped = spawn([&, c = counted(captured)] { return counted(results); });
        ASSERT_TRUE(wait_until([&] { return dropped.done(); }));
      }
      // joined, and assigned over
      static_cast<void>(spawn([&, c = counted(captured)] { return counted(results); }).join());
      auto handle = spawn([&, c = counted(captured)] { return counted(results); });
      handle = spawn([&, c = counted(captured)] { return counted(results); });
      handle.detach();
      EXPECT_FALSE(handle.joinable());
    }
    ASSERT_TRUE(wait_until([&] { return num_goroutines() == 1; }));
    EXPECT_EQ(results.made.load(rt::acquire), 6 * each);
    EXPECT_EQ(results.alive.load(rt::acquire), 0);
    EXPECT_EQ(captured.alive.load(rt::acquire), 0);
  });
}

TEST_P(join_in_place, T07_a_dropped_handle_lets_an_exception_and_a_goexit_pass_unseen) {
  run([&] {
    struct thrown : std::runtime_error {
      explicit thrown(counts& in)
          : std::runtime_error("of a child without a handle"), c(std::make_shared<counted>(in)) {}
      std::shared_ptr<counted> c;
    };
    counts errors;
    for (int i = 0; i < 20; ++i) {
      {
        auto const dropped = spawn([&]() -> int { throw thrown(errors); });
      }
      {
        auto const dropped = spawn([&]() -> int { goexit(); });
      }
      if (i % 2 == 0) yield();
    }
    ASSERT_TRUE(wait_until([&] { return num_goroutines() == 1; }));
    EXPECT_EQ(errors.made.load(rt::acquire), 20);
    EXPECT_EQ(errors.alive.load(rt::acquire), 0);
  });
}

// A handle can be asked, dropped and assigned over after its run and in the next one. Only waiting is an error.
TEST(join_handles, T07_one_that_outlives_its_run_is_harmless) {
  static baton never[3];  // a waiter that is left behind stays in it
  join_handle<int> unstarted;
  join_handle<int> finished;
  join_handle<int> parked;
  for (baton& b : never) {
    run_at(1, [&] {
      parked = spawn([&b] {
        b.take();
        return 2;
      });
      finished = spawn([] { return 1; });
      ASSERT_TRUE(wait_until([&] { return finished.done(); }));
      unstarted = spawn([] { return 3; });
    });
    EXPECT_TRUE(unstarted.joinable());
    EXPECT_TRUE(finished.done());
    EXPECT_FALSE(parked.done());
  }
  EXPECT_EQ(finished.join(), 1);
  EXPECT_THROW(static_cast<void>(parked.join()), std::logic_error);
  parked.detach();
  EXPECT_FALSE(parked.joinable());
}

}  // namespace
}  // namespace thrum::test
