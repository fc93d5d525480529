// S01 to S04: the data of G, M, P and the scheduler, observed while they run and with the world stopped.
// dump/S01_S03_scheddetail_test.cpp tests how scheddetail shows them, and dump/dump_test.cpp tests the dump.
#include "core/sched.h"
#include "os/clock.h"
#include "os/thread.h"
#include "sched/world.h"
#include "stack/stack.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>
#include <signal.h>
#include <unwind.h>

namespace thrum {
namespace {

using test::run_at;
using test::this_g;
using test::this_p;
using test::this_sched;

rt::g_status status_of(rt::G const& g) { return g.status.load(rt::acquire); }

bool is_on(rt::stack const& stack, void const* address) { return address >= stack.low && address < stack.top; }

[[gnu::noinline]] void spawn_here(std::atomic<rt::G*>& out) {
  thrum::go([&out] { out = &this_g(); });
  asm volatile("" ::: "memory");  // the creation site is inside this function, not behind it
}

TEST(data_of_G, S01_a_running_goroutine_knows_its_id_status_and_stack) {
  run_at(1, [] {
    int local = 0;
    rt::G const& g = this_g();
    EXPECT_EQ(g.id, 1U) << "main";
    EXPECT_EQ(g.id, this_goroutine::id());
    EXPECT_EQ(status_of(g), rt::g_status::running);
    ASSERT_NE(g.on, nullptr);
    EXPECT_TRUE(is_on(*g.on, &local));
    EXPECT_EQ(g.on->goroutine_id, 1U);
    EXPECT_GE(static_cast<std::size_t>(g.on->top - g.on->low), options().stack_size);
  });
}

TEST(data_of_G, S01_a_waiting_goroutine_shows_its_context_and_why_it_waits) {
  run_at(2, [] {
    test::waiter_for_mutex const waiter;
    ASSERT_TRUE(test::wait_until([&] { return waiter.is_parked(); }));
    rt::G const& g = waiter.g();
    EXPECT_EQ(status_of(g), rt::g_status::waiting);
    EXPECT_EQ(g.waits_for, rt::wait_reason::mutex);
    EXPECT_GT(g.waits_since_ns.load(rt::relaxed), 0);
    EXPECT_LE(g.waits_since_ns.load(rt::relaxed), rt::os::monotonic_ns());
    EXPECT_TRUE(is_on(*g.on, g.saved.sp));
    EXPECT_NE(g.saved.pc, nullptr);
    EXPECT_NE(g.id, 1U);
  });
}

TEST(data_of_G, S01_creation_site_creator_and_entry_function_are_kept) {
  run_at(1, [] {
    std::atomic<rt::G*> made{nullptr};
    spawn_here(made);
    ASSERT_TRUE(test::wait_until([&] { return made.load() != nullptr; }));
    detail::task const& task = made.load()->task;
    EXPECT_EQ(_Unwind_FindEnclosingFunction(task.created_at), reinterpret_cast<void*>(&spawn_here));
    EXPECT_EQ(task.created_by, 1U);
    EXPECT_NE(task.step, nullptr);
    EXPECT_EQ(task.stack_bytes, 0U) << "the runtime's default";
    EXPECT_EQ(made.load()->only_m, nullptr);
  });
}

TEST(data_of_G, S01_a_goroutine_that_waits_for_its_first_turn_has_no_stack) {
  test::without_slices const uninterrupted;
  run_at(1, [] {
    thrum::go([] {});
    rt::G const& g = *this_p().queue.peek_next().g();
    EXPECT_EQ(status_of(g), rt::g_status::unstarted);
    EXPECT_EQ(g.on, nullptr);
    EXPECT_EQ(g.link, nullptr);
  });
}

TEST(data_of_M, S02_an_m_is_a_thread_with_its_own_scheduling_and_signal_stack) {
  run_at(1, [] {
    test::leave_m0();
    rt::M const& m = *rt::current_m();
    EXPECT_EQ(m.tid, rt::os::current_tid());
    EXPECT_EQ(m.current, &this_g());
    EXPECT_EQ(m.p, &this_p());
    EXPECT_EQ(m.next_p, nullptr);
    EXPECT_FALSE(m.spinning);
    EXPECT_FALSE(m.in_runtime.load(rt::relaxed)) << "user code runs";
    EXPECT_FALSE(m.wake_note.is_woken());
    auto const thread = rt::os::current_thread_stack();
    EXPECT_GE(static_cast<char*>(m.g0.sp), thread.low) << "g0 is the thread's own stack";
    EXPECT_LT(static_cast<char*>(m.g0.sp), thread.high);
    int local = 0;
    EXPECT_FALSE(reinterpret_cast<char*>(&local) >= thread.low && reinterpret_cast<char*>(&local) < thread.high)
        << "and the goroutine is elsewhere";
    stack_t alternate{};
    ASSERT_EQ(::sigaltstack(nullptr, &alternate), 0);
    EXPECT_EQ(alternate.ss_sp, m.signal_stack.low);
  });
}

TEST(data_of_M, S02_S05_main_begins_on_m0_the_thread_that_called_run) {
  test::in_run_order const undisturbed;
  int const caller = rt::os::current_tid();
  run_at(2, [&] {
    EXPECT_EQ(rt::current_m()->id, 0);
    EXPECT_EQ(rt::current_m()->tid, caller);
    EXPECT_TRUE(this_g().is_main);
    test::lock_of_sched const guard(this_sched().lock);
    EXPECT_EQ(this_sched().ms.total(), 1) << "no thread is woken before main has started";
  });
}

TEST(data_of_P, S03_a_p_shows_its_id_status_queue_ticks_and_caches) {
  test::in_run_order const undisturbed;
  run_at(2, [] {
    rt::P& p = this_p();
    EXPECT_EQ(p.id, 0);
    EXPECT_EQ(p.status.load(rt::relaxed), rt::p_status::running);
    EXPECT_EQ(p.m, rt::current_m());
    EXPECT_EQ(p.queue.capacity(), 256U);
    EXPECT_EQ(p.attention.load(rt::relaxed), 0U);
    std::uint32_t const tick = p.schedtick.load(rt::relaxed);
    for (int i = 0; i < 5; ++i) thrum::yield();
    EXPECT_EQ(p.schedtick.load(rt::relaxed), tick + 5);
    EXPECT_EQ(this_sched().procs[1]->status.load(rt::relaxed), rt::p_status::idle);
    EXPECT_TRUE(this_sched().procs[1]->queue.looks_empty());
  });
  run_at(1, [] {
    wait_group all;
    for (int i = 0; i < 10; ++i) all.go([] { thrum::yield(); });
    all.wait();
    EXPECT_GE(this_p().free_g_count, 10U) << "the dead are kept";
    EXPECT_GE(this_p().stacks.count(), 9U);
    EXPECT_GE(this_p().sudogs.size(), 1U) << "main's own, from all.wait()";
  });
}

class data_of_sched : public test::at_every_width {};

TEST_P(data_of_sched, S04_the_counts_agree_with_each_other_and_with_the_process) {
  run([&] {
    wait_group all;
    for (int i = 0; i < 200; ++i) all.go([] { thrum::yield(); });
    all.wait();
    stats now = read_stats();
    EXPECT_TRUE(test::wait_until([&] {  // until the last ones, which may be paused behind done(), have left
      now = read_stats();
      return now.global_queue == 0 && now.threads - now.idle_threads <= 2 * procs() + 1;
    })) << now.global_queue
        << " in the global queue, " << now.threads - now.idle_threads << " threads at work";
    EXPECT_EQ(static_cast<int>(now.procs.size()), procs());
    EXPECT_EQ(max_procs(), procs());
    std::uint64_t created = 0;
    std::uint64_t ended = 0;
    std::set<int> ids;
    for (proc_stats const& p : now.procs) {
      created += p.created;
      ended += p.ended;
      EXPECT_TRUE(ids.insert(p.id).second);
    }
    EXPECT_EQ(created, 201U) << "and main";
    EXPECT_LE(ended, 200U);
    EXPECT_GE(num_goroutines(), 1);
    EXPECT_LT(now.idle_procs, procs()) << "this one is not";
    EXPECT_GE(now.spinning_threads, 0);
    EXPECT_LE(now.spinning_threads, procs());
    EXPECT_LT(now.idle_threads, now.threads);
    EXPECT_GE(now.threads, 2) << "M0, which waits for the end, and the one we are on";
    EXPECT_TRUE(test::wait_until([] { return num_goroutines() == 1; })) << "only main is left";
    EXPECT_TRUE(test::wait_until([] {
      int const others = rt::os::count_process_threads() - num_threads();
      return others >= 0 && others <= 4;  // sysmon, the thread maker, the watchdog, and a sanitizer's
    }));
  });
}

TEST_P(data_of_sched, S04_when_all_but_main_sleep_every_other_p_is_idle_and_every_other_m_rests) {
  test::delays_only const quiet;
  run([&] {
    wait_group all;
    for (int i = 0; i < 100; ++i) all.go([] { thrum::yield(); });
    all.wait();
    rt::Sched& s = this_sched();
    EXPECT_TRUE(test::spin_until([&] {
      test::lock_of_sched const guard(s.lock);
      return s.idle.count() == procs() - 1 && s.idle.spinning() == 0 &&
             s.ms.count(rt::m_status::idle) == s.ms.total() - 2;  // less this one, and M0
    }));
  });
}

struct census {
  int idle_procs = 0;
  int threads = 0;
  int idle_threads = 0;
  std::uint64_t queued = 0;  // on the Ps
  std::uint64_t global_queue = 0;
  std::uint64_t running = 0;
  std::uint64_t runnable = 0;
  std::uint64_t waiting = 0;
  bool operator==(census const&) const = default;
};

census said_by(stats const& all) {
  census said{.idle_procs = all.idle_procs,
              .threads = all.threads,
              .idle_threads = all.idle_threads,
              .queued = 0,
              .global_queue = all.global_queue,
              .running = all.running,
              .runnable = all.runnable,
              .waiting = all.waiting};
  for (proc_stats const& p : all.procs) said.queued += p.queued;
  return said;
}

template <class F>
int ms_that(rt::Sched const& s, F are) {
  int count = 0;
  for (rt::M const& m : s.ms.all()) count += are(m) ? 1 : 0;
  return count;
}

// Counts Ps, threads and queued goroutines one by one while the world is stopped. Checks that the caches and the store
// hold all dead Gs.
census count_in_a_stopped_world() {
  rt::Sched& s = this_sched();
  census found;
  std::uint32_t dead = 0;
  std::uint32_t cached = 0;
  {
    test::inside_runtime const inside;
    rt::stopped_world const world(*rt::current_m());
    for (rt::P* const p : s.procs) {
      if (p->m == nullptr) ++found.idle_procs;
      found.queued += p->queue.waiting();
      cached += p->free_g_count;
    }
    {
      rt::os::lock_guard const guard(s.lock);
      found.threads = ms_that(
          s, [](rt::M const& m) { return m.status != rt::m_status::threadless && m.status != rt::m_status::let_go; });
      found.idle_threads = ms_that(s, [](rt::M const& m) { return m.rests(); });
      found.global_queue = s.global_queue.size();
    }
    cached += s.records.gs_dead();
    s.records.for_each_g([&](rt::G const& g) {
      switch (status_of(g)) {
        case rt::g_status::idle:
        case rt::g_status::dead: ++dead; break;
        case rt::g_status::running: ++found.running; break;
        case rt::g_status::unstarted:
        case rt::g_status::runnable: ++found.runnable; break;
        case rt::g_status::waiting: ++found.waiting; break;
        default: break;
      }
    });
  }
  EXPECT_EQ(dead, cached);
  return found;
}

TEST_P(data_of_sched, S04_the_stats_say_what_a_stopped_world_shows) {
  test::delays_only const quiet;
  run([&] {
    chan<int> const without_sender;
    for (int i = 0; i < 7; ++i) thrum::go([&] { static_cast<void>(without_sender.recv()); });
    for (int i = 0; i < 3; ++i) thrum::go([] { sleep_for(std::chrono::hours(1)); });
    wait_group all;
    for (int i = 0; i < 200; ++i) all.go([] { thrum::yield(); });
    all.wait();
    ASSERT_TRUE(test::wait_until([] {
      return test::waiting_for(rt::wait_reason::chan_receive) == 7 && test::waiting_for(rt::wait_reason::sleep) == 3 &&
             num_goroutines() == 11;
    }));
    if (procs() == 1) {
      for (int i = 0; i < 300; ++i) thrum::go([] {});  // no M runs them, so some overflow into the global queue
    }
    rt::Sched& s = this_sched();
    census before;
    census found;
    for (int tries = 0;; ++tries) {
      ASSERT_LT(tries, 1000) << "it does not come to rest";
      ASSERT_TRUE(test::spin_until([&] {
        test::lock_of_sched const guard(s.lock);
        return s.idle.count() == procs() - 1 && s.idle.spinning() == 0;
      }));
      before = said_by(read_stats());
      found = count_in_a_stopped_world();
      if (said_by(read_stats()) == before) break;  // otherwise an M was on its way to rest
    }
    EXPECT_EQ(before.idle_procs, found.idle_procs);
    EXPECT_EQ(before.threads, found.threads);
    EXPECT_EQ(before.idle_threads, found.idle_threads);
    EXPECT_EQ(before.queued, found.queued);
    EXPECT_EQ(before.global_queue, found.global_queue);
    EXPECT_EQ(before.running, found.running);
    EXPECT_EQ(before.runnable, found.runnable);
    EXPECT_EQ(before.waiting, found.waiting);
    EXPECT_EQ(found.waiting, 10U);
    if (procs() == 1) {
      EXPECT_EQ(found.queued + found.global_queue, 300U);
      EXPECT_GT(found.global_queue, 0U);
    }
  });
}

THRUM_AT_EVERY_WIDTH(data_of_sched);

}  // namespace
}  // namespace thrum
