#include "os/futex.h"

#include "os/clock.h"
#include "os/memory.h"
#include "os/thread.h"

#include <thread>

#include <errno.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

namespace thrum::rt::os {
namespace {

TEST(futex, a_wait_for_another_value_returns_at_once) {
  atomic<std::uint32_t> word{1};
  EXPECT_EQ(futex_wait(word, 2), wait_result::value_changed);
}

TEST(futex, a_wait_ends_at_its_timeout_and_not_before) {
  atomic<std::uint32_t> word{1};
  std::int64_t const started = monotonic_ns();
  EXPECT_EQ(futex_wait(word, 1, 3'000'000), wait_result::timed_out);
  EXPECT_GE(monotonic_ns() - started, 3'000'000);
}

TEST(futex, a_timeout_of_zero_only_looks) {
  atomic<std::uint32_t> word{1};
  EXPECT_EQ(futex_wait(word, 1, 0), wait_result::timed_out);
  EXPECT_EQ(futex_wait(word, 2, 0), wait_result::value_changed);
}

TEST(futex, a_wake_without_waiters_wakes_no_thread) {
  atomic<std::uint32_t> word{1};
  EXPECT_EQ(futex_wake(word, 1), 0);
}

TEST(futex, a_wake_ends_a_wait_without_a_timeout) {
  atomic<std::uint32_t> word{1};
  wait_result result = wait_result::timed_out;
  std::thread sleeper([&] { result = futex_wait(word, 1); });
  while (futex_wake(word, 1) == 0) yield_thread();  // until it sleeps
  sleeper.join();
  EXPECT_EQ(result, wait_result::woken);
}

TEST(futex, a_wake_wakes_no_more_than_it_was_asked_to) {
  atomic<std::uint32_t> word{1};
  atomic<int> returned{0};
  auto const sleep = [&] {
    futex_wait(word, 1);
    returned.fetch_add(1, seq_cst);
  };
  std::thread first(sleep);
  std::thread second(sleep);
  int woken = 0;
  while (woken < 2) {
    int const now = futex_wake(word, 1);
    ASSERT_LE(now, 1);
    woken += now;
    if (now == 0) yield_thread();
  }
  first.join();
  second.join();
  EXPECT_EQ(returned.load(seq_cst), 2);
}

TEST(futex, a_signal_handler_interrupts_a_wait) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  atomic<std::uint32_t> word{1};
  atomic<bool> done{false};
  wait_result result = wait_result::woken;
  std::thread sleeper([&] {
    result = futex_wait(word, 1);
    done.store(true, release);  // pairs with the loop below: the thread no longer waits
  });
  while (!done.load(acquire)) {
    pthread_kill(sleeper.native_handle(), SIGUSR1);
    yield_thread();
  }
  sleeper.join();
  EXPECT_EQ(result, wait_result::interrupted);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(futex, errno_is_kept) {
  atomic<std::uint32_t> word{1};
  errno = EDOM;
  futex_wait(word, 2);
  futex_wait(word, 1, 0);
  futex_wake(word, 1);
  EXPECT_EQ(errno, EDOM);
}

TEST(futex, a_wake_on_unmapped_memory_is_harmless) {
  mapping const page = map(page_size());
  ASSERT_EQ(page.error, 0);
  auto* const word = new (page.address) atomic<std::uint32_t>(0);
  ASSERT_EQ(unmap(page.address, page_size()), 0);
  EXPECT_EQ(futex_wake(*word, 1), 0);
}

}  // namespace
}  // namespace thrum::rt::os
