// Goroutines are signalled one by one while a crowd waits. The lock of the bucket is held for a moment only, however
// many of them were chosen before and have not run since.
#include "posix_locks/locks.h"
#include "support/hogs.h"
#include "support/slices.h"
#include "support/tries.h"

#include <chrono>

namespace thrum::test {
namespace {

struct crowd {
  mutex_of_kind guarded{PTHREAD_MUTEX_NORMAL};
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

  void wait_once() {
    guarded.lock();
    EXPECT_EQ(::pthread_cond_wait(&changed, guarded.get()), 0);
    guarded.unlock();
  }
};

// The CPU time of one signal, when each of `waiters` goroutines gets one and none of them runs meanwhile.
std::chrono::nanoseconds time_of_signal(int waiters) {
  without_slices const uninterrupted;
  std::chrono::nanoseconds took{};
  run_at(1, [&] {
    crowd all;
    wait_group ended;
    for (int i = 0; i < waiters; ++i) ended.go([&] { all.wait_once(); });
    ASSERT_TRUE(until_waiting(rt::wait_reason::condition_variable, waiters));
    auto const began = cpu_time_of_thread();
    for (int i = 0; i < waiters; ++i) EXPECT_EQ(::pthread_cond_signal(&all.changed), 0);
    took = (cpu_time_of_thread() - began) / waiters;
    ended.wait();
  });
  return took;
}

TEST(posix_locks_crowd, a_signal_takes_as_long_for_a_crowd_as_for_a_few) {
  if (rt::with_asan || rt::with_tsan) GTEST_SKIP() << "a sanitizer's bookkeeping would be measured";
  in_run_order const order;
  struct times {
    std::chrono::nanoseconds few, crowd;
  };
  // With a list of which all that is chosen is passed over, the crowd takes more than eight times as long.
  auto const seen = in_one_of(
      5,
      [] {
        return times{time_of_signal(1000), time_of_signal(8000)};
      },
      [](times const& t) { return t.crowd < 5 * t.few; });
  EXPECT_LT(seen.crowd, 5 * seen.few);
}

}  // namespace
}  // namespace thrum::test
