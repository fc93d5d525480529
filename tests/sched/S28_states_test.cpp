// S28: the states on the running scheduler. The tables and the illegal edges are in tests/sched/status_test.cpp; in
// builds with THRUM_DEBUG_CHECKS every change in every test is held against them (SC-23).
#include "sched/world.h"
#include "support/gate.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using rt::g_status;
using test::run_at;
using test::this_g;
using test::this_p;
using test::this_sched;

g_status status_of(rt::G const& g) { return g.status.load(rt::acquire); }

TEST(states, S28_a_goroutine_is_seen_in_each_of_its_states) {
  test::without_slices const uninterrupted;
  run_at(1, [] {
    wait_group gate;
    gate.add(1);
    rt::G* g = nullptr;
    bool may_yield = true;
    wait_group all;
    all.go([&] {
      g = &this_g();
      EXPECT_EQ(status_of(*g), g_status::running);
      while (may_yield) thrum::yield();
      gate.wait();
    });
    rt::G const* const next = this_p().queue.peek_next().g();
    ASSERT_NE(next, nullptr);
    EXPECT_EQ(status_of(*next), g_status::unstarted);
    thrum::yield();
    EXPECT_EQ(status_of(*g), g_status::runnable);
    may_yield = false;
    thrum::yield();
    EXPECT_EQ(status_of(*g), g_status::waiting);
    EXPECT_EQ(g->waits_for, rt::wait_reason::wait_group);
    gate.done();
    EXPECT_EQ(status_of(*g), g_status::runnable);
    all.wait();
    thrum::yield();
    EXPECT_EQ(status_of(*g), g_status::dead);
  });
}

TEST(states, S28_T07_a_joiner_that_runs_its_child_in_place_is_hosting) {
  test::without_slices const uninterrupted;
  run_at(1, [] {
    rt::G& joiner = this_g();
    auto child = spawn([&] {
      EXPECT_EQ(status_of(joiner), g_status::hosting);
      EXPECT_EQ(status_of(this_g()), g_status::running);
      EXPECT_NE(&this_g(), &joiner);
      EXPECT_EQ(this_g().on, joiner.on) << "on the joiner's stack";
    });
    child.join();
    EXPECT_EQ(status_of(joiner), g_status::running);
  });
}

TEST(states, S28_a_p_is_running_or_idle) {
  test::with_own_procs const fixed;
  run_at(2, [] {
    rt::P& mine = this_p();
    rt::P& other = *this_sched().procs[1];
    EXPECT_EQ(mine.status.load(rt::relaxed), rt::p_status::running);
    EXPECT_EQ(other.status.load(rt::relaxed), rt::p_status::idle);
    std::atomic<bool> started{false};
    std::atomic<bool> over{false};
    wait_group all;
    all.go([&] {
      started = true;
      EXPECT_TRUE(test::spin_until([&] { return over.load(); }));
    });
    ASSERT_TRUE(test::spin_until([&] { return started.load(); }));
    EXPECT_EQ(other.status.load(rt::relaxed), rt::p_status::running);
    over = true;
    EXPECT_TRUE(test::spin_until([&] { return other.status.load(rt::relaxed) == rt::p_status::idle; }));
    all.wait();
  });
}

// In a system call the goroutine and its P are both in the state `syscall`. The P is in it until another thread takes
// the P, so the test looks from inside the call.
TEST(states, S28_in_a_system_call) {
  run_at(4, [] {
    test::gate kernel;
    std::atomic<rt::G*> g{nullptr};
    wait_group all;
    all.go([&] {
      int tries = 0;
      for (bool seen = false; !seen;) {  // sysmon may have taken it at once
        ASSERT_LT(++tries, 1000);
        rt::P& mine = this_p();
        blocking([&] {
          EXPECT_EQ(status_of(this_g()), g_status::syscall);
          seen = mine.status.load(rt::relaxed) == rt::p_status::syscall;
        });
        EXPECT_EQ(status_of(this_g()), g_status::running);
      }
      blocking([&] {
        g = &this_g();
        kernel.wait();
      });
    });
    ASSERT_TRUE(test::wait_until([&] { return g.load() != nullptr; }));
    EXPECT_EQ(status_of(*g.load()), g_status::syscall);
    kernel.open();
    all.wait();
  });
}

class states_of_all : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(states_of_all);

TEST_P(states_of_all, S28_in_a_stopped_world_every_p_is_stopped_but_the_callers) {
  run([] {
    std::atomic<bool> over{false};
    wait_group all;
    for (int i = 0; i < procs(); ++i) {
      all.go([&] {
        while (!over) thrum::yield();
      });
    }
    int all_ps = 0;
    int stopped = 0;
    rt::p_status own = rt::p_status::dead;
    {
      test::inside_runtime const inside;
      rt::stopped_world const world(*rt::current_m());
      all_ps = this_sched().procs.size();
      for (rt::P const* const p : this_sched().procs) {
        if (p->status.load(rt::relaxed) == rt::p_status::stopped) ++stopped;
      }
      own = rt::current_m()->p->status.load(rt::relaxed);
    }
    EXPECT_EQ(stopped, all_ps - 1);
    EXPECT_EQ(own, rt::p_status::running);
    over = true;
    all.wait();
  });
}

// An M runs a goroutine, searches, or sleeps without a P.
TEST(states, S28_an_m_is_seen_running_spinning_and_parked) {
  run_at(4, [] {
    rt::Sched& s = this_sched();
    auto const ms_that = [&](auto are) {
      test::lock_of_sched const guard(s.lock);
      int count = 0;
      for (rt::M const& m : s.ms.all()) count += are(m) ? 1 : 0;
      return count;
    };
    auto const runs = [](rt::M const& m) { return rt::hint_of(m.current) != nullptr; };
    auto const spins = [](rt::M const& m) { return rt::hint_of(m.spinning); };
    auto const is_parked = [&](rt::M const& m) {
      return m.status == rt::m_status::idle && rt::hint_of(m.p) == nullptr && rt::hint_of(m.current) == nullptr;
    };
    EXPECT_GE(ms_that(runs), 1) << "this one";
    EXPECT_TRUE(test::spin_until([&] {
      thrum::go([] {});  // an M searches for it, and for more work
      for (int i = 0; i < 100; ++i) {
        if (ms_that(spins) > 0) return true;
      }
      return false;
    }));
    EXPECT_TRUE(test::spin_until([&] { return ms_that(is_parked) > 0; }));
  });
}

class mixed_work : public test::at_every_width {};

// SC-23's stress, short: everything that changes a state, at once.
TEST_P(mixed_work, SC_23_all_changes_stay_inside_the_table) {
  run([&] {
    mutex crowded;
    once first;
    wait_group all;
    std::atomic<std::int64_t> sum{0};
    std::int64_t const rounds = test::scaled(100, 5);
    for (int i = 0; i < 32; ++i) {
      all.go([&, i] {
        for (std::int64_t round = 0; round < rounds; ++round) {
          switch ((i + round) % 5) {
            case 0: thrum::yield(); break;
            case 1: {
              crowded.lock();
              thrum::yield();
              crowded.unlock();
              break;
            }
            case 2: sum += spawn([] { return 1; }).join(); break;
            case 3: {
              auto child = spawn([] {
                thrum::yield();
                return 1;
              });
              thrum::yield();
              sum += child.join();
              break;
            }
            default: {
              first.call([] { thrum::yield(); });
              thrum::go([] { goexit(); });
            }
          }
        }
      });
    }
    all.wait();
    EXPECT_GT(sum.load(), 0);
  });
}

THRUM_AT_EVERY_WIDTH(mixed_work);

}  // namespace
}  // namespace thrum
