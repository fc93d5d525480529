// S38: the embedded runtime (class runtime), whose owner is a foreign thread.
#include "support/child_test.h"
#include "support/run_at.h"
#include "support/slices.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

class embedded : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(embedded);

TEST_P(embedded, S38_goroutines_run_while_the_owner_goes_on) {
  test::with_own_procs const fixed;
  runtime const alive({.max_procs = procs()});
  chan<int> results;
  for (int i = 0; i < 50; ++i) go([&, i] { results.send(i); });
  int sum = 0;
  for (int i = 0; i < 50; ++i) sum += results.recv().value();
  EXPECT_EQ(sum, 1225);
  EXPECT_EQ(spawn([] { return 6 * 7; }).join(), 42);
  EXPECT_EQ(max_procs(), procs());
}

TEST_P(embedded, S38_several_threads_use_it) {
  runtime const alive({.max_procs = procs()});
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      wait_group all;
      for (int i = 0; i < 50; ++i) {
        all.go([&] {
          sleep_for(10us);
          ++sum;
        });
      }
      all.wait();
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(sum, 200);
}

TEST_P(embedded, S38_one_after_the_other_and_beside_nothing) {
  for (int round = 0; round < 10; ++round) {
    runtime const alive({.max_procs = procs()});
    EXPECT_THROW(runtime{}, std::logic_error);
    EXPECT_THROW(static_cast<void>(thrum::run([] {})), std::logic_error);
    spawn([] {}).join();
    EXPECT_THROW(static_cast<void>(thrum::run([] {})), std::logic_error) << "seated";
    go([] {
      for (;;) sleep_for(1ms);
    });
  }
  EXPECT_EQ(run([] { spawn([] {}).join(); }), 0);
  EXPECT_THROW(go([] {}), std::logic_error);
}

class embedded_fatal : public test::child_test {};

// All goroutines wait, and so does the owner of the runtime, in a call of thrum in which it counts as a goroutine. This
// is not a deadlock, because a signal handler for example may wake them. The alarm ends the child.
TEST_F(embedded_fatal, S20_S38_no_deadlock_is_reported) {
  for (int const procs : {1, 2}) {
    auto const child = [procs] {
      runtime const alive({.max_procs = procs});
      chan<int> never;
      chan<int> waits;
      go([&] {
        waits.send(1);
        static_cast<void>(never.recv());
      });
      static_cast<void>(waits.recv());
      ::alarm(1);
      static_cast<void>(never.recv());
    };
    EXPECT_EXIT(child(), testing::KilledBySignal(SIGALRM), "^$");
  }
}

}  // namespace
}  // namespace thrum
