// S14, S15: a P that an M has left behind in a system call, and the threads that want the P. Each of them gets an
// answer, whenever it comes.
#include "core/claims.h"
#include "core/current.h"
#include "os/barrier.h"
#include "os/pause_signal.h"
#include "os/thread.h"
#include "sched/threads.h"
#include "support/gate.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::gate;
using test::run_at;
using test::this_sched;

class taken_from_calls : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(taken_from_calls);

// Each P has a plain counter that the P's owner increments. If a P had two owners at a time, increments would be lost.
TEST_P(taken_from_calls, S14_a_p_has_one_owner_however_many_take_it) {
  test::with_own_procs const fixed;
  run([] {
    rt::Sched& s = this_sched();
    std::vector<std::uint64_t> visits(static_cast<std::size_t>(procs()));
    std::int64_t const rounds = test::scaled(200'000, 2'000);
    std::atomic<bool> is_over{false};
    std::atomic<int> looks{0};
    std::thread taker([&] {
      while (!is_over) {
        rt::take_from_calls(s.procs, [&](rt::P& p) { rt::hand_off(s, p); });
        ++looks;
        std::this_thread::yield();
      }
    });
    wait_group all;
    int const callers = 2 * procs() + 1;
    for (int i = 0; i < callers; ++i) {
      all.go([&] {
        for (std::int64_t n = 0; n < rounds / callers; ++n) {
          blocking([] {});
          rt::enter_runtime(*rt::current_m());
          ++visits[static_cast<std::size_t>(rt::current_m()->p->id)];
          rt::leave_runtime(*rt::current_m());
        }
      });
    }
    all.wait();
    EXPECT_TRUE(test::wait_until([&] { return looks > 0; }));
    is_over = true;
    blocking([&] { taker.join(); });
    std::int64_t sum = 0;
    for (std::uint64_t const some : visits) sum += static_cast<std::int64_t>(some);
    EXPECT_EQ(sum, rounds / callers * callers);
  });
}

// A thread that a signal interrupts in its call has its mark set for a moment. A thread that wants the P at that moment
// has to try once more. Returns false if the P was taken before.
bool are_reached_beside_a_mark(void (*reach_all)()) {
  bool is_seen = false;
  run_at(2, [&] {
    rt::Sched& s = this_sched();
    gate kernel;
    std::atomic<rt::M*> caller{nullptr};
    std::atomic<bool> is_done{false};
    wait_group all;
    all.go([&] {
      caller = rt::current_m();
      blocking([&] { kernel.wait(); });
    });
    EXPECT_TRUE(test::wait_until([&] {
      rt::M const* const m = caller;
      return m != nullptr && (m->attention.load(rt::relaxed) & rt::m_attend::away) != 0;
    }));
    rt::M& m = *caller;
    rt::P const* const left = m.away_from.load(rt::relaxed);
    m.in_runtime.store(true, rt::relaxed);
    rt::os::barrier_in_all_threads();  // a thread that claims the P from now on sees the mark
    while (left != nullptr && left->claimed.load(rt::acquire) != rt::claim_for::none) rt::os::yield_thread();
    is_seen = m.away_from.load(rt::relaxed) != nullptr;
    std::thread interrupts([&, looks = s.sysmon.looks.load(rt::relaxed)] {
      EXPECT_TRUE(test::wait_until([&] { return s.sysmon.looks.load(rt::relaxed) > looks + 10 || is_done; }));
      EXPECT_FALSE(is_seen && is_done) << "not without that P";
      m.in_runtime.store(false, rt::release);
    });
    reach_all();
    is_done = true;
    blocking([&] { interrupts.join(); });
    kernel.open();
    all.wait();
  });
  return is_seen;
}

constexpr auto is_true = [](bool seen) { return seen; };

TEST(calls_that_are_interrupted, S14_a_look_at_every_p_waits_until_it_can_be_had) {
  test::with_own_procs const fixed;
  auto const reach = [] { EXPECT_EQ(read_stats().procs.size(), 2U); };
  EXPECT_TRUE(test::in_one_of(
      20, [&] { return are_reached_beside_a_mark(reach); }, is_true));
}

TEST(calls_that_are_interrupted, S23_and_so_does_the_end_of_a_p) {
  test::with_own_procs const fixed;
  auto const reach = [] { EXPECT_EQ(set_max_procs(1), 2); };
  EXPECT_TRUE(test::in_one_of(
      20, [&] { return are_reached_beside_a_mark(reach); }, is_true));
}

// A goroutine comes back from a call while its only P is claimed and another goroutine waits for the P. Returns whether
// the other goroutine ran first, or nullopt if another thread had taken the P.
std::optional<bool> is_the_other_first_after(rt::claim_for why) {
  std::atomic<rt::P*> left{nullptr};
  std::atomic<bool> is_told{false};
  bool is_claimed = false;
  rt::M& m = *rt::current_m();
  std::thread claimant([&] {
    while (left == nullptr) rt::os::yield_thread();
    rt::claims one;
    is_claimed = one.add(*left, why);
    is_told = true;
    while (is_claimed && !m.in_runtime.load(rt::acquire)) rt::os::yield_thread();
    one.settle();
    EXPECT_EQ(one.take(), nullptr) << "its M was back";
  });
  std::atomic<bool> other_ran{false};
  wait_group all;
  all.go([&] { other_ran = true; });
  blocking([&] {
    left = *m.sched.procs.begin();
    while (!is_told) rt::os::yield_thread();
  });
  bool const is_first = other_ran;
  all.wait();
  blocking([&] { claimant.join(); });
  return is_claimed ? std::optional(is_first) : std::nullopt;
}

TEST(calls_that_are_claimed, S14_an_m_that_comes_back_meanwhile_keeps_the_p) {
  test::in_run_order const order;
  run_at(1, [] {
    int claimed = 0;
    for (int tries = 0; tries < 1000 && claimed < 5; ++tries) {
      auto const is_first = is_the_other_first_after(rt::claim_for::call);
      if (is_first) ++claimed;
      ASSERT_NE(is_first, true);
    }
    EXPECT_GT(claimed, 0);
  });
}

// However short the calls are that follow each other, the other goroutines get their turns, because a goroutine that
// comes back when its slice is over hands the P off itself. The M sets its mark and then looks at the claim. If the
// claimant drops the claim in between, because it sees the mark, the M keeps the P, and sysmon soon looks once more. On
// 1 in 61 of its turns an M takes a goroutine of the global queue first. So this is true for many tries, not for each.
TEST(calls_that_are_claimed, S14_an_m_that_comes_back_meanwhile_hands_the_p_off_if_its_slice_is_over) {
  test::in_run_order const order;
  run_at(1, [] {
    auto const is_first = test::in_one_of(
        1000, [] { return is_the_other_first_after(rt::claim_for::slice); },
        [](std::optional<bool> const& seen) { return seen == true; });
    EXPECT_EQ(is_first, true);
  });
}

// What interrupts a call sets the mark for a moment, again and again.
TEST(calls_that_are_interrupted, S14_all_are_reached_beside_a_storm_of_signals) {
  test::with_own_procs const fixed;
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  run_at(3, [] {
    gate kernel;
    std::atomic<int> tid{0};
    std::atomic<bool> is_over{false};
    wait_group all;
    all.go([&] {
      tid = rt::os::current_tid();
      blocking([&] { kernel.wait(); });
    });
    EXPECT_TRUE(test::wait_until([&] { return tid != 0; }));
    std::thread storm([&] {
      while (!is_over) static_cast<void>(rt::os::send_pause_signal(tid));
    });
    std::int64_t const rounds = test::scaled(200, 20);
    for (std::int64_t i = 0; i < rounds; ++i) {
      EXPECT_EQ(read_stats().procs.size(), 3U);
      if (i % 10 == 0) static_cast<void>(set_max_procs(i % 20 == 0 ? 2 : 3));
      if (i % 10 == 1) static_cast<void>(set_max_procs(3));
    }
    is_over = true;
    blocking([&] { storm.join(); });
    kernel.open();
    all.wait();
  });
}

}  // namespace
}  // namespace thrum
