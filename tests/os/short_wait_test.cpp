// Waiting for a thread that is about to be done must not keep it from running (SCHED_FIFO).
#include "os/short_wait.h"

#include "os/clock.h"
#include "os/spin_lock.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

namespace thrum::rt::os {
namespace {

using namespace std::chrono_literals;

std::chrono::nanoseconds cpu_of_this_thread() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

void stay_on_the_first_cpu() {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int first = 0;
  while (!CPU_ISSET(first, &allowed)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
}

// False: the system does not allow it.
bool become_real_time() {
  sched_param const lowest{.sched_priority = 1};
  return ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &lowest) == 0;
}

TEST(short_wait, sleeps_when_it_takes_longer) {
  short_wait wait;
  for (int i = 0; i < 1'000 && !wait.is_long(); ++i) wait.pause();
  EXPECT_TRUE(wait.is_long());
  auto const since = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) wait.pause();
  EXPECT_GE(std::chrono::steady_clock::now() - since, 500us);
}

TEST(short_wait, wait_until_asks_at_least_once) {
  int asked = 0;
  EXPECT_TRUE(wait_until([&] { return ++asked == 1; }, 0)) << "the time was over before";
  EXPECT_EQ(asked, 1);
}

TEST(short_wait, wait_until_ends_at_its_time) {
  EXPECT_FALSE(wait_until([] { return false; }, monotonic_ns() + 1'000'000));
}

TEST(short_wait, wait_until_sees_what_another_thread_does) {
  constexpr std::int64_t long_enough_ns = 60'000'000'000;
  std::atomic<bool> is_done{false};
  std::thread other([&] { is_done = true; });
  EXPECT_TRUE(wait_until([&] { return is_done.load(); }, monotonic_ns() + long_enough_ns));
  other.join();
}

TEST(short_wait, a_real_time_thread_lets_the_holder_of_a_spin_lock_run) {
  spin_lock lock{lock_rank::channel};
  std::atomic<bool> is_held{false};
  std::atomic<bool> is_wanted{false};
  std::atomic<bool> is_allowed{true};
  std::chrono::nanoseconds used{};
  std::thread holder([&] {
    stay_on_the_first_cpu();
    lock.acquire();
    is_held = true;
    while (!is_wanted) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);
    lock.release();
  });
  std::thread waiter([&] {
    stay_on_the_first_cpu();
    while (!is_held) std::this_thread::yield();
    is_allowed = become_real_time();
    is_wanted = true;
    auto const before = cpu_of_this_thread();
    lock.acquire();
    used = cpu_of_this_thread() - before;
    lock.release();
  });
  holder.join();
  waiter.join();
  if (!is_allowed) GTEST_SKIP() << "no permission for SCHED_FIFO";
  EXPECT_LT(used, 300ms);  // the kernel throttles such threads after 950 ms
}

}  // namespace
}  // namespace thrum::rt::os
