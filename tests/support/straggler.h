// A goroutine that its run has left behind.
#pragma once

#include "base/atomic.h"
#include "support/gate.h"
#include "support/kept.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/run.h>
#include <thrum/sync.h>

#include <atomic>
#include <functional>

#include <gtest/gtest.h>

namespace thrum::test {

enum class left_in : bool { a_loop, a_system_call };

// A goroutine that its run has left behind in user code. It carries out orders during later runs. It never ends, and
// keeps what it uses.
class straggler {
 public:
  explicit straggler(left_in place) : place_(place) {
    // With one P and a plain read, sysmon takes the P away from the goroutine before the run ends. Without the signal,
    // which would stop a goroutine in a loop for good.
    int const procs = place == left_in::a_loop ? 2 : 1;
    run_with({.max_procs = procs, .async_preemption = false}, [this] {
      go([this] { obey(); });
      EXPECT_TRUE(wait_until([this] { return is_there_.load(); }));
    });
  }

  // Returns false if it has not carried out the order within the limit of wait_until.
  [[nodiscard]] bool does(std::function<void()> const& order) {
    begins(order);
    return wait_until([this] { return done_ == given_; });
  }
  void begins(std::function<void()> const& order) {
    order_ = order;
    ++given_;
    if (place_ == left_in::a_system_call) gate_.open();
  }

 private:
  void obey() {
    is_there_ = true;
    for (int next = 1;; ++next) {
      if (place_ == left_in::a_system_call) gate_.wait_by_number();
      while (given_ != next) rt::cpu_relax();
      order_();
      done_ = next;
    }
  }

  left_in const place_;
  std::atomic<bool> is_there_{false};
  std::atomic<int> given_{0};
  std::atomic<int> done_{0};
  std::function<void()> order_;
  test::gate gate_;
};

// A fixture with a straggler, which sleeps for good when the test is over.
class with_straggler : public testing::TestWithParam<left_in> {
 protected:
  straggler& other = kept<straggler>(GetParam());
  ~with_straggler() override {
    run_at(1, [this] { other.begins([] { kept<semaphore>(0).acquire(); }); });
  }
};
#define THRUM_WITH_EACH_STRAGGLER(suite)                                                                 \
  INSTANTIATE_TEST_SUITE_P(                                                                              \
      in, suite, testing::Values(::thrum::test::left_in::a_loop, ::thrum::test::left_in::a_system_call), \
      [](auto const& in) { return in.param == ::thrum::test::left_in::a_loop ? "a_loop" : "a_system_call"; })

}  // namespace thrum::test
