// Threads that cannot be had (S22), and too many of them (S21): the program ends with a message that says what to do.
#include "base/atomic.h"
#include "os/clock.h"
#include "os/fault.h"
#include "os/thread.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include <thrum/blocking.h>
#include <thrum/go.h>
#include <thrum/run.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using rt::os::call;
using rt::os::clear_faults;
using rt::os::inject_fault;

// Wants `wanted` Ps at once, besides its own. If slices ended, fewer Ps would do, one goroutine after the other, and
// the spare thread that sysmon orders before the end of a slice would meet the injected fault.
void want_threads(int wanted, options chosen) {
  without_slices const uninterrupted;
  thrum::run(
      [wanted] {
        rt::atomic<int> running{0};
        for (int i = 0; i < wanted; ++i) {
          go([&] {
            running.fetch_add(1, rt::relaxed);
            for (;;) rt::os::yield_thread();  // keeps its P
          });
        }
        while (running.load(rt::relaxed) < wanted) rt::os::yield_thread();
      },
      chosen);
}

class threads : public child_test {};

constexpr int own_threads = 2;  // the first that a run makes: the thread maker and sysmon

TEST_F(threads, S16_run_throws_when_a_thread_of_its_own_cannot_be_created) {
  char const* const names[own_threads] = {"thread maker", "sysmon"};
  for (int i = 0; i < own_threads; ++i) {
    inject_fault(call::thread_create, EAGAIN, i);
    try {
      run([] { ADD_FAILURE() << "main must not start"; }, {.max_procs = 2});
      ADD_FAILURE() << "no exception";
    } catch (std::system_error const& error) {
      EXPECT_EQ(error.code().value(), EAGAIN);
      EXPECT_NE(std::string_view(error.what()).find(names[i]), std::string_view::npos);
    }
  }
  int answer = 0;
  run([&] { answer = 42; }, {.max_procs = 2});
  EXPECT_EQ(answer, 42) << "and nothing is lost";
}

TEST_F(threads, S22_a_thread_that_cannot_be_created_ends_the_program) {
  EXPECT_FATAL(
      {
        inject_fault(call::thread_create, ENOMEM, own_threads);
        want_threads(1, {.max_procs = 2});
      },
      "^thrum: failed to create new OS thread \\(have 1 already; errno=12\\)\n$");
  EXPECT_FATAL(
      {
        inject_fault(call::thread_create, EPERM, own_threads + 3);
        want_threads(7, {.max_procs = 8});
      },
      "^thrum: failed to create new OS thread \\(have 4 already; errno=1\\)\n$");
}

TEST_F(threads, S22_the_hint_at_the_limit_comes_with_EAGAIN_only) {
  EXPECT_FATAL(
      {
        inject_fault(call::thread_create, EAGAIN, own_threads + 1);
        want_threads(3, {.max_procs = 4});
      },
      "^thrum: failed to create new OS thread \\(have 2 already; errno=11\\)\nthrum: .*ulimit -u.*\n$");
}

// At P=1 a thread is needed as soon as main waits.
TEST_F(threads, S22_when_main_first_waits) {
  EXPECT_FATAL(
      {
        inject_fault(call::thread_create, EAGAIN, own_threads);
        thrum::run(
            [] {
              wait_group ended;
              ended.go([] {});
              ended.wait();
            },
            {.max_procs = 1});
      },
      "^thrum: failed to create new OS thread \\(have 1 already; errno=11\\)\n");
}

TEST_F(threads, S21_passing_the_limit_ends_the_program) {
  for (int const limit : {1, 2, 5}) {
    std::string const message = "^thrum: program exceeds " + std::to_string(limit) + "-thread limit.*max_threads";
    EXPECT_FATAL(want_threads(7, {.max_procs = 8, .max_threads = limit}), message);
  }
}

// One of the threads has lost its P because it sleeps in the kernel in an unannounced call. It may come back, but that
// is no reason to wait for threads that cannot be made.
TEST_F(threads, S21_passing_the_limit_ends_the_program_beside_a_thread_that_sleeps) {
  EXPECT_FATAL(thrum::run(
                   [] {
                     go([] {
                       for (;;) ::pause();
                     });
                     rt::Sched& s = this_sched();
                     EXPECT_TRUE(wait_until([&] { return s.unannounced.without_p() != 0; }));
                     for (int i = 0; i < 7; ++i) {
                       go([] {
                         for (;;) rt::os::yield_thread();  // keeps its P
                       });
                     }
                     for (;;) rt::os::yield_thread();
                   },
                   {.max_procs = 8, .max_threads = 5}),
               "^thrum: .*exceeds 5-thread limit.*max_threads");
}

TEST(threads_within_the_limit, S21_as_many_as_it_says_are_fine) {
  delays_only const quiet;
  // The first thread, and one for each P, also while some of them have given their Ps up and do not sleep yet.
  run_with({.max_procs = 4, .max_threads = 5}, [] {
    for (int round = 0; round < 50; ++round) {
      rt::atomic<int> running{0};
      wait_group ended;
      for (int i = 0; i < 4; ++i) {
        ended.go([&] {
          running.fetch_add(1, rt::relaxed);
          while (running.load(rt::relaxed) < 4) rt::os::yield_thread();
        });
      }
      ended.wait();
    }
  });
  // At P=1 the first thread gives its P to the second one as soon as main waits.
  run_with({.max_procs = 1, .max_threads = 2}, [] {
    wait_group ended;
    for (int i = 0; i < 100; ++i) ended.go([] { yield(); });
    ended.wait();
  });
}

// Both Ps are in use, and no other goroutine is runnable. The P of a goroutine in a long call need not be used.
TEST(threads_within_the_limit, S21_a_p_for_which_there_is_no_work_needs_no_thread) {
  delays_only const quiet;
  run_with({.max_procs = 2, .max_threads = 3}, [] {
    for (int round = 0; round < 20; ++round) {
      rt::atomic<int> running{0};
      rt::atomic<bool> is_over{false};
      wait_group ended;
      auto const meet = [&] {
        running.fetch_add(1, rt::relaxed);
        while (running.load(rt::relaxed) < 2) rt::os::yield_thread();
      };
      ended.go([&] {
        meet();
        while (!is_over.load(rt::relaxed)) rt::os::yield_thread();
      });
      ended.go([&] {
        meet();
        blocking([] { ::usleep(1000); }, blocking_hint::long_call);
        is_over.store(true, rt::relaxed);
      });
      ended.wait();
    }
  });
}

TEST(threads_within_the_limit, S21_a_limit_out_of_range_names_the_rule) {
  for (int const limit : {0, -1, 2'000'000}) {
    try {
      thrum::run([] {}, {.max_threads = limit});
      ADD_FAILURE() << limit << " was accepted";
    } catch (std::invalid_argument const& e) {
      EXPECT_NE(std::string(e.what()).find(std::to_string(limit)), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("max_threads"), std::string::npos) << e.what();
    }
  }
}

bool one_is_spare() {
  rt::Sched& s = this_sched();
  lock_of_sched const guard(s.lock);
  return s.ms.idle_without_residents() != nullptr;
}

// True if no thread could run a goroutine in place of the caller's, and none is on its way.
bool no_spare_is_near() {
  rt::Sched& s = this_sched();
  lock_of_sched const guard(s.lock);
  bool const is_being_made = s.ms.count(rt::m_status::starting_without_p) != 0 || s.pauses.spare_is_ordered();
  return s.ms.first_idle() == nullptr && s.ms.paused() == 0 && !is_being_made;
}

// Computes until there is a spare thread, and returns how long that took from the beginning of the slice. Returns the
// length of a whole slice if the slice ended first.
std::chrono::nanoseconds loop_until_one_is_spare(std::chrono::nanoseconds slice) {
  rt::counter const& paused = this_p().counters.preempted;
  auto const paused_before = paused.load(rt::relaxed);
  auto const began = std::chrono::steady_clock::now();
  auto took = slice;
  while (paused.load(rt::relaxed) == paused_before) {
    took = std::chrono::steady_clock::now() - began;
    if (took >= slice || one_is_spare()) break;
  }
  return paused.load(rt::relaxed) == paused_before ? took : slice;
}

// T01: the handler that ends a slice makes no thread, but there is one by then; and as soon as that is taken, another.
TEST(spare_threads, T01_one_is_ready_before_a_slice_is_over_and_the_next_when_it_is_taken) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  constexpr std::chrono::milliseconds slice(400);
  struct times {
    std::chrono::nanoseconds first, second;
  };
  auto const measure = [&] {
    with_slices_of const slices(slice);
    times until_spare{slice, slice};
    run_at(1, [&] {
      rt::atomic<bool> second_has_it{false};
      wait_group all;
      all.go([&] {
        all.go([&] {
          second_has_it.store(true, rt::relaxed);
          until_spare.second = loop_until_one_is_spare(slice);
        });
        EXPECT_FALSE(one_is_spare());
        until_spare.first = loop_until_one_is_spare(slice);
        while (!second_has_it.load(rt::relaxed)) rt::cpu_relax();  // the slice's end
      });
      all.wait();
    });
    return until_spare;
  };
  auto const seen = in_one_of(5, measure, [&](times const& t) { return t.first < slice && t.second < slice / 4; });
  EXPECT_LT(seen.first, slice);
  EXPECT_LT(seen.second, slice / 4) << "not before a look has seen that this slice will soon be over";
}

// A goroutine makes `missing` fail and computes beside another goroutine. Returns false if it did not, because a thread
// for that other goroutine was near: if main's thread gets no CPU before main parks, its slice comes to an end.
bool computes_without_a_spare(call missing) {
  bool was_tried = false;
  run_at(1, [&] {
    rt::atomic<bool> ran{false};
    wait_group all;
    all.go([&] {
      auto const compute_until = [](auto holds) {
        std::int64_t const until_ns = rt::os::monotonic_ns() + wait_limit_ns;
        while (!holds() && rt::os::monotonic_ns() < until_ns) rt::cpu_relax();
        return holds();
      };
      inject_fault(missing, missing == call::mmap ? ENOMEM : EAGAIN, 0, rt::os::fault_for_good);
      if (!no_spare_is_near()) {
        clear_faults();
        return;
      }
      was_tried = true;
      rt::counter const& paused = this_p().counters.preempted;
      auto const paused_before = paused.load(rt::relaxed);
      all.go([&] { ran.store(true, rt::relaxed); });
      EXPECT_TRUE(compute_until([=] { return rt::os::calls_made(missing) >= 3; })) << "not ordered anew";
      EXPECT_FALSE(ran.load(rt::relaxed));
      EXPECT_EQ(paused.load(rt::relaxed), paused_before);
      clear_faults();
      EXPECT_TRUE(compute_until([&] { return ran.load(rt::relaxed); }));
      EXPECT_GT(paused.load(rt::relaxed), paused_before);
    });
    all.wait();
  });
  return was_tried;
}

// If no thread rests nevertheless, the handler orders one, and the slice goes on until the thread is there. In this
// test that is when the thread can be made. If a thread or the memory for its signal stack is missing, the program does
// not end.
TEST(spare_threads, T01_T05_one_is_ordered_when_a_slice_is_over_and_no_thread_rests) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(std::chrono::milliseconds(1));
  for (call const missing : {call::thread_create, call::mmap}) {
    int tries = 0;
    while (!computes_without_a_spare(missing)) ASSERT_LT(++tries, 100);
  }
}

// Nor does it go away again: it rests, and the next slice that is over finds it.
TEST(spare_threads, T01_the_one_that_was_ordered_serves_again_and_again) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(std::chrono::milliseconds(1));
  run_at(1, [] {
    rt::atomic<int> turns{0};
    wait_group all;
    all.go([&] {
      go([&] { turns.fetch_add(1, rt::relaxed); });
      while (turns.load(rt::relaxed) == 0) rt::cpu_relax();  // the spare thread is there
      inject_fault(call::thread_create, EAGAIN, 0, rt::os::fault_for_good);
      for (int i = 0; i < 5; ++i) {
        int const before = turns.load(rt::relaxed);
        go([&] { turns.fetch_add(1, rt::relaxed); });
        while (turns.load(rt::relaxed) == before) rt::cpu_relax();
      }
      clear_faults();
    });
    all.wait();
    EXPECT_EQ(turns.load(rt::relaxed), 6);
  });
}

}  // namespace
}  // namespace thrum::test
