// S01: how long a goroutine has waited at least. sysmon records when it first saw the goroutine wait, and the waker
// that readies the goroutine clears the record.
#include "core/g.h"
#include "os/clock.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

bool has_age(rt::G const& g) { return (g.attention.load(rt::acquire) & rt::g_attend::aged) != 0; }

// sysmon notes ages only of those that it looks at: it is awake while main sleeps now and then.
template <class Predicate>
bool sleep_until_so(Predicate holds) {
  return test::wait_until([&] {
    sleep_for(5ms);
    return holds();
  });
}

class ages : public test::at_every_width {};

TEST_P(ages, S01_one_that_waits_is_seen_and_keeps_the_time_of_that) {
  test::run_with({.max_procs = procs(), .scavenge_after = 10ms}, [] {
    chan<int> const never;
    std::atomic<rt::G*> waiter{nullptr};
    std::int64_t const begin_ns = rt::os::monotonic_ns();
    go([&] {
      waiter = &test::this_g();
      static_cast<void>(never.recv());
    });
    ASSERT_TRUE(sleep_until_so([&] { return waiter.load() != nullptr && has_age(*waiter.load()); }));
    std::int64_t const since_ns = waiter.load()->waits_since_ns.load(rt::relaxed);
    EXPECT_GE(since_ns, begin_ns);
    EXPECT_LE(since_ns, rt::os::monotonic_ns());
    auto const& looks = test::this_sched().sysmon.looks;
    auto const before = looks.load(rt::relaxed);
    ASSERT_TRUE(sleep_until_so([&] { return looks.load(rt::relaxed) >= before + 5; }));  // it has been seen again
    EXPECT_TRUE(has_age(*waiter.load()));
    EXPECT_EQ(waiter.load()->waits_since_ns.load(rt::relaxed), since_ns);
    never.close();
  });
}

TEST_P(ages, S01_one_that_ran_and_waits_at_the_same_place_again_has_waited_since_then) {
  test::run_with({.max_procs = procs(), .scavenge_after = 10ms}, [] {
    chan<int> const c;
    std::atomic<rt::G*> waiter{nullptr};
    std::atomic<int> received{0};
    wait_group all;
    all.go([&] {
      waiter = &test::this_g();
      while (c.recv()) ++received;
    });
    for (int round = 1; round <= 3; ++round) {
      ASSERT_TRUE(sleep_until_so([&] { return waiter.load() != nullptr && has_age(*waiter.load()); }));
      std::int64_t const sent_ns = rt::os::monotonic_ns();
      EXPECT_LE(waiter.load()->waits_since_ns.load(rt::relaxed), sent_ns);
      c.send(round);
      ASSERT_TRUE(test::wait_until([&] { return received.load() == round; }));
      ASSERT_TRUE(sleep_until_so([&] { return has_age(*waiter.load()); }));
      EXPECT_GT(waiter.load()->waits_since_ns.load(rt::relaxed), sent_ns) << "what was noted before is void";
    }
    c.close();
    all.wait();
  });
}

TEST_P(ages, S01_a_mutex_knows_it_exactly_and_that_is_not_overwritten) {
  test::run_with({.max_procs = procs(), .scavenge_after = 10ms}, [] {
    mutex locked;
    locked.lock();
    wait_group all;
    std::atomic<rt::G*> waiter{nullptr};
    all.go([&] {
      waiter = &test::this_g();
      locked.lock();
      locked.unlock();
    });
    ASSERT_TRUE(test::wait_until([&] { return test::goroutine_is_parked_on(&locked); }));
    std::int64_t const since_ns = waiter.load()->waits_since_ns.load(rt::relaxed);
    ASSERT_TRUE(sleep_until_so([&] { return has_age(*waiter.load()); }));
    EXPECT_EQ(waiter.load()->waits_since_ns.load(rt::relaxed), since_ns);
    locked.unlock();
    all.wait();
  });
}

THRUM_AT_EVERY_WIDTH(ages);

}  // namespace
}  // namespace thrum
