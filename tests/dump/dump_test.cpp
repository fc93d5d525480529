// The goroutine dump on a call (S01, DL-14).
#include "dump/dumps.h"
#include "support/dumped.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using rt::wait_reason;
using test::about;
using test::calls_the_one_that_waits;
using test::dump;
using test::dumped;
using test::loops_in_here;
using test::run_at;
using test::wait_until;
using test::waiting_for;
using test::waits_in_here;

THRUM_AT_EVERY_WIDTH(dump);  // also for the tests of this suite in other files

TEST_P(dump, S01_a_goroutine_that_waits_is_shown_with_its_stack_and_its_creator) {
  run([] {
    chan<int> c;
    auto one = spawn([&] {
      this_goroutine::set_name("reader");
      calls_the_one_that_waits(c);
    });
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::chan_receive) == 1; }));
    std::string const all = dumped();
    c.send(1);
    one.join();
    std::string const reader = about(all, "[waiting: chan receive] reader:");
    ASSERT_FALSE(reader.empty()) << all;
    EXPECT_HAS(reader, "created by goroutine 1\n");
    THRUM_SKIP_WITHOUT_NAMES();
    auto const inner = reader.find("waits_in_here");
    auto const outer = reader.find("calls_the_one_that_waits");
    ASSERT_NE(inner, std::string::npos) << reader;
    ASSERT_NE(outer, std::string::npos) << reader;
    EXPECT_LT(inner, outer);
    EXPECT_HAS(reader, "dump_test.cpp:");
  });
}

[[gnu::noinline]] std::string dumps_from_here() {
  std::string text = dumped();
  asm volatile("");
  return text;
}

TEST_P(dump, S01_the_goroutine_that_makes_it_stands_in_it) {
  run([] {
    std::string const all = dumps_from_here();
    std::string const self = about(all, "goroutine 1 [running]:");
    ASSERT_FALSE(self.empty()) << all;
    THRUM_SKIP_WITHOUT_NAMES();
    EXPECT_HAS(self, "dumps_from_here");
  });
}

TEST_P(dump, S01_loops_without_calls_are_shown_where_they_are) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  test::with_slices_of const slices(procs() == 1 ? 1ms : 10s);
  run([] {
    std::atomic<bool> stop{false};
    std::atomic<bool> loops{false};
    wait_group all;
    all.go([&] { loops_in_here(loops, stop); });
    ASSERT_TRUE(wait_until([&] { return loops.load(); }));
    std::string const text = dumped();
    stop = true;
    all.wait();
    THRUM_SKIP_WITHOUT_NAMES();
    EXPECT_HAS(text, "loops_in_here");
  });
}

[[gnu::noinline]] void is_made_in_here(wait_group& all, chan<int>& c) {
  all.go([&] {
    this_goroutine::set_name("child");
    waits_in_here(c);
  });
  asm volatile("");
}

TEST_P(dump, S01_the_place_where_a_goroutine_was_made_is_named) {
  run([] {
    chan<int> c;
    wait_group all;
    is_made_in_here(all, c);
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::chan_receive) == 1; }));
    std::string const child = about(dumped(), "chan receive] child:");
    c.send(1);
    all.wait();
    auto const creation = child.find("created by goroutine 1\n");
    ASSERT_NE(creation, std::string::npos) << child;
    THRUM_SKIP_WITHOUT_NAMES();
    EXPECT_HAS(child.substr(creation), "is_made_in_here");
  });
}

TEST_P(dump, S24_S38_locked_goroutines_and_threads_from_outside) {
  run([] {
    chan<int> c;
    wait_group all;
    all.go([&] {
      lock_os_thread();
      calls_the_one_that_waits(c);
    });
    std::thread outside([&] { calls_the_one_that_waits(c); });
    std::string text;
    ASSERT_TRUE(wait_until([&] {
      text = dumped();
      return !about(text, "chan receive, locked to thread]").empty() &&
             !about(text, "chan receive, a thread from outside]").empty();
    })) << text;
    c.send(1);
    c.send(2);
    all.wait();
    outside.join();
    THRUM_SKIP_WITHOUT_NAMES();
    EXPECT_HAS(about(text, "locked to thread]"), "waits_in_here");
    EXPECT_HAS(about(text, "a thread from outside]"), "waits_in_here");
  });
}

TEST(dump_reasons, DL14_each_reason_is_named) {
  run_at(4, [] {
    chan<int> unreceived;
    mutex held;
    shared_mutex writing;
    shared_mutex reading;
    thrum::condition_variable never;
    wait_group group;
    group.add(1);
    thrum::semaphore none(0);
    thrum::latch closed(1);
    thrum::barrier alone(2);
    once slow;
    auto quiet = test::pipe_pair();
    held.lock();
    writing.lock();
    reading.lock_shared();
    std::atomic<int> started{0};
    auto const waits = [&](auto f) {
      go([&started, f] {
        ++started;
        f();
      });
    };
    waits([&] { unreceived.send(1); });
    waits([&] { static_cast<void>(chan<int>().recv()); });
    waits([] { chan<int>(nullptr).send(1); });
    waits([] { static_cast<void>(chan<int>(nullptr).recv()); });
    waits([] {
      select(on_recv(chan<int>(), [](std::optional<int>) {}), on_recv(chan<int>(), [](std::optional<int>) {}));
    });
    waits([] { select(); });
    waits([] { sleep_for(1h); });
    waits([&] { held.lock(); });
    waits([&] { writing.lock_shared(); });
    waits([&] { reading.lock(); });
    waits([&] {
      mutex own;
      std::unique_lock lock(own);
      never.wait(lock);
    });
    waits([&] { group.wait(); });
    waits([&] { none.acquire(); });
    waits([&] { closed.wait(); });
    waits([&] { alone.arrive_and_wait(); });
    waits([&] {
      char byte = 0;
      std::error_code closed_at_the_end;
      static_cast<void>(quiet.a.read_some({&byte, 1}, closed_at_the_end));
    });
    waits([&] { slow.call([] { static_cast<void>(chan<int>().recv()); }); });
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::chan_receive) == 2; }));
    waits([&] { slow.call([] {}); });
    waits([] {
      std::atomic<bool> begun{false};  // otherwise it would run in place
      auto child = spawn([&] {
        begun = true;
        static_cast<void>(chan<int>().recv());
      });
      while (!begun) thrum::yield();
      child.join();
    });
    char const* const reasons[] = {"chan send",
                                   "chan receive",
                                   "chan send (nil chan)",
                                   "chan receive (nil chan)",
                                   "select",
                                   "select (no cases)",
                                   "sleep",
                                   "mutex",
                                   "shared mutex (read)",
                                   "shared mutex (write)",
                                   "condition variable",
                                   "wait group",
                                   "semaphore",
                                   "latch",
                                   "barrier",
                                   "IO wait",
                                   "once",
                                   "join"};
    std::string text;
    for (char const* const reason : reasons) {
      auto const is_named = [&] { return text.find(std::string("[waiting: ") + reason) != std::string::npos; };
      EXPECT_TRUE(wait_until([&] {
        if (!is_named()) text = dumped();
        return is_named();
      })) << reason
          << " is missing in\n"
          << text;
    }
  });
}

TEST(dump_of_crowds, S01_thousands_are_listed) {
  run_at(2, [] {
    wait_group never;
    never.add(1);
    for (int i = 0; i < 3000; ++i) go([&] { never.wait(); });
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::wait_group) == 3000; }));
    std::string const all = dumped();
    std::size_t heads = 0;
    for (std::size_t at = all.find("[waiting: wait group]"); at != std::string::npos;
         at = all.find("[waiting: wait group]", at + 1))
      ++heads;
    EXPECT_EQ(heads, 3000U);
    never.done();
  });
}

TEST(dump_age, S01_one_that_waits_for_long_says_for_how_long) {
  test::run_with({.max_procs = 2, .scavenge_after = 20ms}, [] {
    wait_group never;
    never.add(1);
    go([&] { never.wait(); });
    EXPECT_TRUE(wait_until([] {
      sleep_for(100ms);
      std::string const all = dumped();
      std::string_view const head = "[waiting: wait group, ";
      auto const at = all.find(head);
      return at != std::string::npos &&
             std::atoi(all.c_str() + at + head.size()) >= 1;  // beside other work, a while later
    }));
    never.done();
  });
}

}  // namespace
}  // namespace thrum
