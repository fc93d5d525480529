#include "os/note.h"

#include "base/platform.h"
#include "os/clock.h"
#include "os/fault.h"
#include "os/thread.h"
#include "support/rounds.h"

#include <limits>
#include <memory>
#include <thread>

#include <errno.h>
#include <gtest/gtest.h>

namespace thrum::rt::os {
namespace {

constexpr std::int64_t generous_ns = 60'000'000'000;

TEST(note, a_wake_before_the_sleep_is_not_lost_and_costs_no_system_call) {
  clear_faults();
  count_calls();
  note n;
  n.wake();
  n.sleep();
  EXPECT_TRUE(n.sleep_for(generous_ns));
  EXPECT_EQ(calls_made(call::futex) + calls_made(call::futex_wake), 0U);
  clear_faults();
}

TEST(note, a_wake_ends_a_sleep_and_brings_what_was_written_before_it) {
  note n;
  int written = 0;
  std::thread waker([&] {
    written = 42;
    n.wake();
  });
  n.sleep();
  EXPECT_EQ(written, 42);
  waker.join();
}

TEST(note, after_clear_it_serves_again) {
  note to;
  note back;
  int passed = 0;
  constexpr int rounds = 2000;
  std::thread partner([&] {
    for (int i = 0; i < rounds; ++i) {
      to.sleep();
      to.clear();
      ++passed;
      back.wake();
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    to.wake();
    back.sleep();
    back.clear();
    ASSERT_EQ(passed, i);
  }
  partner.join();
}

TEST(note, a_sleep_with_a_limit_ends_there_and_leaves_the_note_clear) {
  note n;
  std::int64_t const started = monotonic_ns();
  EXPECT_FALSE(n.sleep_for(2'000'000));
  EXPECT_GE(monotonic_ns() - started, 2'000'000);
  EXPECT_FALSE(n.is_woken());
  n.wake();
  EXPECT_TRUE(n.sleep_for(0));
}

TEST(note, a_limit_of_zero_or_less_only_looks) {
  note n;
  EXPECT_FALSE(n.sleep_for(0));
  EXPECT_FALSE(n.sleep_for(-1));
  EXPECT_FALSE(n.sleep_for(std::numeric_limits<std::int64_t>::min()));
}

TEST(note, the_longest_limit_does_not_overflow) {
  note n;
  std::thread waker([&] { n.wake(); });
  EXPECT_TRUE(n.sleep_for(std::numeric_limits<std::int64_t>::max()));
  waker.join();
}

// Every wait times out at once, so that the sleeper takes its announcement back all the time.
TEST(note, a_wake_at_the_moment_of_the_timeout_is_never_lost) {
  constexpr int most = with_tsan ? 2000 : 20'000;
  clear_faults();
  inject_fault(call::futex, ETIMEDOUT, 0, fault_for_good);
  note n;
  atomic<int> round{0};
  constexpr int no_more = -1;
  std::thread waker([&] {
    for (int i = 1;; ++i) {
      int now = 0;
      while ((now = round.load(acquire)) != i && now != no_more) yield_thread();  // pairs with the stores below
      if (now == no_more) return;
      n.wake();
    }
  });
  int lost = 0;
  for (thrum::test::rounds all(most); all.next();) {
    round.store(static_cast<int>(all.begun()), release);  // pairs with the load above: the note is clear
    std::int64_t const deadline = monotonic_ns() + generous_ns / (lost > 0 ? 1000 : 6);
    bool woken = false;
    for (int tries = 1; !woken && monotonic_ns() < deadline; ++tries) {
      woken = n.sleep_for(1);
      if (tries % 64 == 0) yield_thread();  // the waker may be waiting for this CPU
    }
    if (!woken) ++lost;
    n.clear();
  }
  round.store(no_more, release);  // pairs with the load above
  waker.join();
  EXPECT_EQ(lost, 0);
  clear_faults();
}

TEST(note, the_sleeper_may_destroy_it_at_once) {
  constexpr int rounds = with_asan || with_tsan ? 3000 : 20'000;
  atomic<note*> given{nullptr};
  std::thread waker([&] {
    for (int i = 0; i < rounds; ++i) {
      note* n = nullptr;
      // The acquire pairs with the release below: the note is made before it is woken.
      while ((n = given.exchange(nullptr, acq_rel)) == nullptr) yield_thread();
      n->wake();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    auto n = std::make_unique<note>();
    given.store(n.get(), release);  // pairs with the exchange above
    if (i % 2 == 0) {
      n->sleep();
    } else {
      while (!n->sleep_for(50'000)) {
      }
    }
  }
  waker.join();
}

TEST(note, a_second_wake_ends_the_program) {
  note n;
  n.wake();
  EXPECT_EXIT(n.wake(), testing::ExitedWithCode(2), "woken twice");
}

}  // namespace
}  // namespace thrum::rt::os
