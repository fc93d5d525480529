// Partial deadlocks: goroutines that wait for each other's locks are named in every report, also while others run on.
#include "core/status.h"
#include "debug/wait_cycles.h"
#include "support/child_test.h"
#include "support/dumped.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;
using rt::wait_reason;

// Each goroutine locks its own lock, and when all have done so, its neighbour's.
template <std::size_t Count, class Lock>
struct circle {
  std::array<Lock, Count> locks;
  latch all_have_one{static_cast<std::ptrdiff_t>(Count)};

  void take_part(std::size_t which) {
    locks[which].lock();
    all_have_one.arrive_and_wait();
    locks[(which + 1) % Count].lock();
  }
  void start() {
    for (std::size_t i = 0; i < Count; ++i) go([this, i] { take_part(i); });
  }
};

std::string lines_about_deadlocks(std::string const& dump) {
  std::string found;
  for (std::size_t at = dump.find("deadlock: "); at != std::string::npos; at = dump.find("deadlock: ", at + 1)) {
    found += dump.substr(at, dump.find('\n', at) + 1 - at);
  }
  return found;
}

// The goroutines that a line about one deadlock names, in order: the last is the first again.
std::vector<int> goroutines_of(std::string const& line) {
  constexpr std::string_view word = "goroutine ";
  std::vector<int> found;
  for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    found.push_back(std::atoi(line.c_str() + at + word.size()));
  }
  return found;
}

// One line, about a circle of so many.
void expect_circle_of(std::size_t count, std::string const& text) {
  std::vector<int> const named = goroutines_of(text);
  ASSERT_EQ(named.size(), count + 1) << text;
  EXPECT_EQ(named.front(), named.back()) << text;
  EXPECT_EQ(std::set<int>(named.begin(), named.end()).size(), count) << text;
  EXPECT_EQ(text.find("deadlock: ", 1), std::string::npos) << text;
}

class lock_cycles : public at_every_width {};
THRUM_AT_EVERY_WIDTH(lock_cycles);

TEST_P(lock_cycles, S20_two_that_wait_for_each_other_are_named_while_others_run) {
  run([] {
    circle<2, mutex> both;
    both.start();
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::mutex) == 2; }));
    std::string const text = lines_about_deadlocks(dumped());
    expect_circle_of(2, text);
  });
}

TEST_P(lock_cycles, S20_ten_in_a_circle_and_some_that_only_wait_for_them) {
  run([] {
    circle<10, mutex> ten;
    ten.start();
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::mutex) == 10; }));
    for (int i = 0; i < 5; ++i) go([&] { ten.locks[0].lock(); });
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::mutex) == 15; }));
    std::string const text = lines_about_deadlocks(dumped());
    expect_circle_of(10, text);
  });
}

TEST_P(lock_cycles, S20_one_that_locks_twice) {
  run([] {
    mutex m;
    go([&] {
      m.lock();
      m.lock();
    });
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::mutex) == 1; }));
    std::string const text = lines_about_deadlocks(dumped());
    expect_circle_of(1, text);
  });
}

TEST_P(lock_cycles, S20_writers_of_shared_mutexes_and_their_readers) {
  run([] {
    shared_mutex one;
    shared_mutex other;
    latch both_have_one{2};
    go([&] {
      one.lock();
      both_have_one.arrive_and_wait();
      other.lock_shared();
    });
    go([&] {
      other.lock();
      both_have_one.arrive_and_wait();
      one.lock();
    });
    ASSERT_TRUE(wait_until(
        [] { return waiting_for(wait_reason::read_lock) == 1 && waiting_for(wait_reason::write_lock) == 1; }));
    std::string const text = lines_about_deadlocks(dumped());
    EXPECT_NE(text.find("waits to read the shared_mutex 0x"), std::string::npos) << text;
    EXPECT_NE(text.find("waits to write the shared_mutex 0x"), std::string::npos) << text;
  });
}

TEST_P(lock_cycles, S38_a_goroutine_and_a_thread_from_outside) {
  run([] {
    circle<2, mutex> both;
    std::thread outside([&] { both.take_part(0); });
    auto inside = spawn([&] { both.take_part(1); });
    EXPECT_TRUE(wait_until([] { return !lines_about_deadlocks(dumped()).empty(); }));
    both.locks[0].unlock();  // in its place
    both.locks[1].unlock();
    outside.join();
    inside.join();
  });
}

// A child that was joined in place stands on its joiner's stack.
TEST_P(lock_cycles, T07_through_one_that_was_joined_in_place) {
  run([] {
    circle<2, mutex> both;
    go([&] { both.take_part(0); });
    go([&] { spawn([&] { both.take_part(1); }).join(); });
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::mutex) == 2; }));
    EXPECT_FALSE(lines_about_deadlocks(dumped()).empty());
  });
}

// Locks that went from hand to hand before, by waiting, by trying and in starving mode: the last holder counts.
TEST_P(lock_cycles, S20_after_much_changing_of_hands) {
  run([] {
    circle<2, mutex> both;
    wait_group ended;
    for (int i = 0; i < 8; ++i) {
      ended.go([&, i] {
        for (int k = 0; k < 50; ++k) {
          mutex& m = both.locks[static_cast<std::size_t>((i + k) % 2)];
          if (k % 3 == 0) {
            if (!m.try_lock_for(1h)) return;
          } else {
            m.lock();
          }
          if (k % 4 == 0) yield();
          m.unlock();
        }
      });
    }
    ended.wait();
    EXPECT_EQ(lines_about_deadlocks(dumped()), "");
    both.start();
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::mutex) == 2; }));
    EXPECT_FALSE(lines_about_deadlocks(dumped()).empty());
  });
}

TEST_P(lock_cycles, S20_no_circle_is_seen_where_none_is) {
  run([] {
    // A chain: the last one sleeps.
    std::array<mutex, 5> locks;
    latch all_have_one{4};
    for (std::size_t i = 0; i < 4; ++i) {
      go([&, i] {
        locks[i].lock();
        all_have_one.arrive_and_wait();
        if (i == 3) sleep_for(1h);
        locks[i + 1].lock();
      });
    }
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::mutex) == 3; }));
    for (std::size_t i = 0; i < 4; ++i) go([&, i] { locks[i].lock(); });
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::mutex) == 7; }));
    EXPECT_EQ(lines_about_deadlocks(dumped()), "");
  });
}

TEST_P(lock_cycles, S20_a_goroutine_that_waits_with_a_limit_will_get_on) {
  run([] {
    mutex m;
    std::atomic<bool> began{false};
    go([&] {
      m.lock();
      began = true;
      static_cast<void>(m.try_lock_for(1h));
    });
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::mutex) == 1; }));
    EXPECT_TRUE(began);
    EXPECT_EQ(lines_about_deadlocks(dumped()), "");
  });
}

// Goroutines create, hold and destroy locks while dumps are made. A dump must not read a lock that is destroyed
// (AddressSanitizer checks that) and must not report a deadlock, because all goroutines lock in the same order and
// record a lock that they hold before they wait for the next one.
TEST_P(lock_cycles, T14_dumps_beside_locks_that_come_and_go) {
  run([] {
    std::atomic<bool> stop{false};
    wait_group ended;
    for (int i = 0; i < 8; ++i) {
      ended.go([&] {
        while (!stop) {
          auto const both = std::make_unique<std::array<mutex, 2>>();
          wait_group used;
          for (int k = 0; k < 3; ++k) {
            used.go([&] {
              std::lock_guard const first((*both)[0]);
              std::lock_guard const second((*both)[1]);
              yield();
            });
          }
          used.wait();
        }
      });
    }
    for (std::int64_t i = 0; i < scaled(3000, 300); ++i) {
      rt::wait_cycles seen;  // as a dump notes it where the world cannot be stopped
      {
        rt::runtime_mark const mark;
        seen.note(this_sched());
      }
      std::string text;
      seen.write(text);
      EXPECT_EQ(text, "");
      if (i % 16 == 0) yield();
    }
    EXPECT_EQ(lines_about_deadlocks(dumped()), "");
    stop = true;
    ended.wait();
  });
}

class lock_cycles_fatal : public child_test {};

std::string const one_step = "waits for the mutex 0x[0-9a-f]+ held by goroutine ";
std::string const two_steps =
    "deadlock: goroutine [0-9]+ " + one_step + "[0-9]+, which " + one_step + "[0-9]+\n\ngoroutine ";

TEST_F(lock_cycles_fatal, S20_in_the_report_on_a_full_deadlock) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  for (int const procs : {1, 2, 8, 64}) {
    EXPECT_FATAL(thrum::run(
                     [] {
                       circle<2, mutex> both;
                       both.start();
                       wait_group never;
                       never.add(1);
                       never.wait();
                     },
                     {.max_procs = procs}),
                 "all goroutines are asleep - deadlock!\n" + two_steps);
  }
}

TEST_F(lock_cycles_fatal, S01_when_SIGQUIT_comes) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  EXPECT_FATAL(thrum::run([] {
                 circle<2, mutex> both;
                 both.start();
                 while (waiting_for(wait_reason::mutex) != 2) yield();
                 ::kill(::getpid(), SIGQUIT);
                 for (;;) sleep_for(1ms);
               }),
               "SIGQUIT: quit\n" + two_steps);
}

// A loop that takes no signal cannot be stopped: the report is made beside it.
TEST_F(lock_cycles_fatal, S01_when_SIGQUIT_comes_beside_what_cannot_be_stopped) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();  // nor would SIGQUIT be
  EXPECT_FATAL(
      {
        static std::atomic<bool> takes_no_signal{false};
        std::thread([] {
          while (!takes_no_signal) std::this_thread::yield();
          ::kill(::getpid(), SIGQUIT);
        }).detach();
        thrum::run(
            [] {
              circle<2, mutex> both;
              both.start();
              while (waiting_for(wait_reason::mutex) != 2) yield();
              sigset_t all;
              ::sigfillset(&all);
              ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
              takes_no_signal = true;
              loop_for_ever();
            },
            {.max_procs = 2});
      },
      "some goroutines could not be stopped within a second and are shown as they were found\n" + two_steps);
}

}  // namespace
}  // namespace thrum::test
