// S30, S31: goroutines end, their records and their threads stay for the next.
#include "os/thread.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/threads_at_work.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;
using test::this_g;
using test::this_p;
using test::this_sched;

class reuse : public test::at_every_width {};

TEST_P(reuse, S30_what_was_created_has_ended_and_lies_in_the_free_lists) {
  test::delays_only const quiet;
  run([&] {
    constexpr std::uint64_t count = 500;
    wait_group all;
    for (std::uint64_t i = 0; i < count; ++i) all.go([] { thrum::yield(); });
    all.wait();
    rt::Sched& s = this_sched();
    EXPECT_TRUE(test::wait_until([&] { return num_goroutines() == 1; }));
    std::uint64_t ended = 0;
    for (auto const& p : s.procs) ended += p->counters.ended.load(rt::relaxed);
    EXPECT_EQ(ended, count);
    std::uint32_t dead = 0;
    rt::runtime_mark const mark;
    s.records.for_each_g([&](rt::G& g) { dead += g.status.load(rt::relaxed) == rt::g_status::dead ? 1U : 0U; });
    EXPECT_EQ(dead, s.records.gs_made() - 1) << "all but main";
  });
}

// Records go from the cache of one P to that of another by way of the global list, under load from all of them.
TEST_P(reuse, SY14_records_that_all_ps_take_and_give_back_are_neither_lost_nor_shared) {
  run([&] {
    int const workers = 4 * procs();
    std::int64_t const rounds = test::scaled(20'000, 1'000) / workers + 1;
    std::atomic<std::int64_t> ran{0};
    wait_group all;
    for (int i = 0; i < workers; ++i) {
      all.go([&] {
        for (std::int64_t round = 0; round < rounds; ++round) {
          auto child = spawn([&] {
            ++ran;
            thrum::yield();
          });
          thrum::yield();
          child.join();
        }
      });
    }
    all.wait();
    EXPECT_EQ(ran, workers * rounds);
    constexpr int cached_max = 64;
    EXPECT_LE(this_sched().records.gs_made(), static_cast<std::uint32_t>(2 * workers + (procs() + 1) * cached_max + 1));
  });
}

TEST(reuse, S30_an_m_goes_on_with_the_next_goroutine) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    test::leave_m0();
    int const tid = rt::os::current_tid();
    std::set<int> tids;
    std::uint64_t const switches = this_p().counters.switches_via_g0.load(rt::relaxed);
    wait_group all;
    for (int i = 0; i < 1000; ++i) all.go([&] { tids.insert(rt::os::current_tid()); });
    all.wait();
    EXPECT_EQ(tids, std::set<int>{tid});
    // Every 61st tick, and main's own park, whose lock g0 releases before an unstarted goroutine gets a stack (T11).
    EXPECT_LE(this_p().counters.switches_via_g0.load(rt::relaxed) - switches, 1000U / 61 + 10)
        << "the others followed each other without g0";
  });
}

TEST(reuse, S30_goexit_ends_a_goroutine_like_a_return) {
  run_at(1, [] {
    std::uint64_t const before = this_p().counters.ended.load(rt::relaxed);
    std::uint32_t const records = this_sched().records.gs_made();
    wait_group all;
    int cleaned = 0;
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 100; ++i) {
        all.go([&] {
          defer const clean = [&] { ++cleaned; };
          goexit();
        });
      }
      all.wait();
    }
    thrum::yield();
    EXPECT_EQ(cleaned, 1000);
    EXPECT_EQ(this_p().counters.ended.load(rt::relaxed) - before, 1000U);
    EXPECT_LE(this_sched().records.gs_made(), records + 128U) << "and its record is used again";
  });
}

TEST(reuse, S30_a_recycled_record_carries_nothing_over) {
  run_at(1, [] {
    local<int> counter;
    for (int round = 0; round < 5; ++round) {
      wait_group all;
      for (int i = 0; i < 100; ++i) {
        all.go([&] {
          EXPECT_EQ(*counter, 0);
          EXPECT_EQ(this_goroutine::name(), "");
          *counter = 7;
          this_goroutine::set_name("used");
          rt::G const& g = this_g();
          EXPECT_FALSE(g.is_hosted || g.is_exiting || g.is_main || g.is_joinable);
        });
      }
      all.wait();
      EXPECT_EQ(spawn([&] { return ++*counter; }).join(), 1);
    }
  });
}

// An M that has given its P up is not among the idle Ms until it sleeps. A thread that starts an M in between makes a
// new one, as in Go, and so does one that starts an M for the P of a thread that the kernel does not run. So there may
// be more Ms than Ps, and a busy machine makes more than an idle one. But each burst begins when all of them rest, and
// so sooner or later there are enough of them. If one thread of each burst were not reused, each burst would make one.
TEST_P(reuse, S31_bursts_use_the_same_threads_again) {
  test::delays_only const quiet;
  run([&] {
    constexpr int bursts_in_a_row = 10;
    int const at_once = std::min(procs(), 8);  // goroutines of each burst that need a thread each
    std::set<int> tids;
    int first_threads = 0;
    int bursts = 0;
    for (int without_a_new_thread = 0; without_a_new_thread < bursts_in_a_row; ++bursts) {
      ASSERT_LT(bursts, 300) << "there are " << num_threads() << " threads, and " << first_threads << " at first";
      int const threads = num_threads();
      // No lock guards it, because a goroutine that sleeps in the kernel for a lock keeps its thread.
      std::vector<int> on(static_cast<std::size_t>(4 * procs()));
      wait_group all;
      std::atomic<int> inside{0};
      for (int& mine : on) {
        all.go([&] {
          EXPECT_TRUE(++inside > at_once || test::spin_until([&] { return inside >= at_once; }));
          thrum::yield();
          mine = rt::os::current_tid();
        });
      }
      all.wait();
      tids.insert(on.begin(), on.end());
      if (bursts == 0) first_threads = num_threads();
      without_a_new_thread = num_threads() == threads ? without_a_new_thread + 1 : 0;
      ASSERT_TRUE(test::few_threads_work(2)) << "besides main's, and M0: " << test::threads_at_work();
    }
    EXPECT_LT(static_cast<int>(tids.size()), num_threads()) << "M0 runs only main";
    EXPECT_GE(num_threads(), first_threads) << "none has ended: they are kept idle";
  });
}

TEST_P(reuse, S31_after_the_run_no_thread_is_left) {
  test::without_slices const uninterrupted;
  int const before = rt::os::count_process_threads();
  for (int round = 0; round < 3; ++round) {
    run([&] {
      wait_group all;
      for (int i = 0; i < 200; ++i) all.go([] { thrum::yield(); });
      all.wait();
    });
  }
  // The watchdog and ThreadSanitizer's own thread, if this was the first run of the program. A joined thread may take a
  // moment to leave /proc.
  int const not_ours = rt::with_tsan ? 2 : 1;
  EXPECT_TRUE(test::wait_until([&] { return rt::os::count_process_threads() <= before + not_ours; }));
}

THRUM_AT_EVERY_WIDTH(reuse);

}  // namespace
}  // namespace thrum
