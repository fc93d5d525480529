// A wait with a time limit: woken or timed out, never both, and nothing is left behind.
#include "wait/timed_wait.h"

#include "base/random.h"
#include "core/current.h"
#include "os/clock.h"
#include "os/fault.h"
#include "sched/park.h"
#include "sched/records.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/time.h>
#include <thrum/wait_group.h>

#include <cerrno>
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;
using rt::wait_outcome;

// An object of one word that goroutines wait on: the smallest thing that can be built on wait_in_until.
class gate {
 public:
  // Whether the object was there in time.
  wait_outcome pass_until(std::int64_t deadline_ns) {
    rt::M& m = *rt::current_m();
    rt::enter_runtime(m);
    rt::sudog& waiter = *rt::take_sudog(*m.p);
    waiter.g = m.current;
    rt::wait_bucket& bucket = m.sched.waiters.bucket_of(this);
    bucket.acquire();
    auto const end =
        rt::wait_in_until(m, bucket, waiter, this, rt::wait_reason::semaphore, rt::queue_end::back, deadline_ns);
    if (end.how != wait_outcome::woken) {
      EXPECT_EQ(waiter.address, nullptr) << "out of the bucket";
      bucket.release();
    }
    EXPECT_FALSE(waiter.in_race);
    rt::put_sudog(*end.m->p, &waiter);
    rt::leave_runtime(*end.m);
    return end.how;
  }
  wait_outcome pass_for(clock::duration d) { return pass_until((clock::now() + d).time_since_epoch().count()); }

  // Lets one goroutine through. Returns false if no goroutine waited.
  bool open() {
    rt::M& m = *rt::current_m();
    rt::enter_runtime(m);
    rt::wait_bucket& bucket = m.sched.waiters.bucket_of(this);
    bucket.acquire();
    bool more = false;
    rt::sudog* const first = bucket.dequeue(this, more);
    rt::G* const g = first == nullptr ? nullptr : first->g;
    bucket.release();
    if (g != nullptr) rt::ready(m, *g);
    rt::leave_runtime(m);
    return g != nullptr;
  }
};

class timed_waits : public at_every_width {};
THRUM_AT_EVERY_WIDTH(timed_waits);

TEST_P(timed_waits, S27_no_waker_comes) {
  run([] {
    gate g;
    auto const before = clock::now();
    EXPECT_EQ(g.pass_for(2ms), wait_outcome::timed_out);
    EXPECT_GE(clock::now() - before, 2ms);
    EXPECT_FALSE(g.open()) << "no waiter stands there any more";
    EXPECT_EQ(timers_pending(), 0U);
  });
}

TEST_P(timed_waits, S27_a_deadline_that_has_passed) {
  run([] {
    gate g;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(g.pass_until(0), wait_outcome::timed_out);
  });
}

TEST_P(timed_waits, S27_a_waker_comes_first_and_the_timer_is_gone) {
  run([] {
    gate g;
    wait_group all;
    for (int i = 0; i < 100; ++i) {
      all.go([&] { EXPECT_EQ(g.pass_for(1h), wait_outcome::woken); });
      ASSERT_TRUE(wait_until([&] { return g.open(); }));
      all.wait();
      EXPECT_EQ(timers_pending(), 0U) << "neither fires nor is watched";
    }
  });
}

TEST_P(timed_waits, S27_one_that_gave_up_is_passed_over) {
  run([] {
    gate g;
    wait_group all;
    rt::atomic<int> woken{0};
    rt::atomic<int> timed_out{0};
    for (int i = 0; i < 10; ++i) {
      all.go([&, i] {
        auto const how = g.pass_for(i % 2 == 0 ? clock::duration(1ms) : clock::duration(1h));
        (how == wait_outcome::woken ? woken : timed_out).fetch_add(1, rt::relaxed);
      });
    }
    ASSERT_TRUE(wait_until([&] { return timed_out.load(rt::relaxed) == 5; }));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(wait_until([&] { return g.open(); }));
    all.wait();
    EXPECT_EQ(woken.load(rt::relaxed), 5);
    EXPECT_FALSE(g.open());
  });
}

// A waker and a timer race for the same goroutine. Exactly one of them wins, and both sides agree which one.
TEST_P(timed_waits, S26_the_race_of_waker_and_timer_has_one_winner) {
  run([] {
    gate g;
    rt::random_source random(26);
    std::int64_t const rounds = scaled(3000, 100);
    std::int64_t opened = 0;
    rt::atomic<std::int64_t> woken{0};
    rt::atomic<std::int64_t> ended{0};
    wait_group all;
    for (std::int64_t i = 0; i < rounds; ++i) {
      std::int64_t const limit_us = random.below(60);
      all.go([&, limit_us] {
        if (g.pass_for(limit_us * 1us) == wait_outcome::woken) woken.fetch_add(1, rt::relaxed);
        ended.fetch_add(1, rt::relaxed);
      });
      for (std::uint32_t spins = random.below(200); spins > 0; --spins) rt::cpu_relax();
      opened += g.open() ? 1 : 0;
      if (i % 16 == 0) yield();
    }
    while (ended.load(rt::relaxed) != rounds) {
      opened += g.open() ? 1 : 0;
      yield();
    }
    all.wait();
    EXPECT_EQ(woken.load(rt::relaxed), opened);
    EXPECT_EQ(timers_pending(), 0U);
  });
}

// At P=1 no thread is made meanwhile that would miss the memory.
TEST(timed_waits_without_memory, T10_without_memory_for_the_timer_nothing_has_happened) {
  run_at(1, [] {
    leave_m0();
    rt::enter_runtime(*rt::current_m());
    rt::put_sudog(this_p(), rt::take_sudog(this_p()));  // the waiter itself is there
    rt::leave_runtime(*rt::current_m());
    gate g;
    rt::os::inject_fault(rt::os::call::mmap, ENOMEM, 0, rt::os::fault_for_good);
    EXPECT_EQ(g.pass_for(1ms), wait_outcome::no_memory);
    rt::os::clear_faults();
    EXPECT_FALSE(g.open());
    EXPECT_EQ(g.pass_for(1ms), wait_outcome::timed_out);
  });
}

}  // namespace
}  // namespace thrum::test
