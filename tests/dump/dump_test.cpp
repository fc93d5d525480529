// The goroutine dump (S01, DL-14): on a call, at a deadlock, and when SIGQUIT comes.
#include "core/sched.h"
#include "debug/symbols.h"
#include "support/child.h"
#include "support/child_test.h"
#include "support/dumped.h"
#include "support/gate.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using rt::wait_reason;
using test::dumped;
using test::run_at;
using test::wait_until;
using test::waiting_for;

// The part about the goroutine whose head contains this; empty: there is none.
std::string about(std::string const& all, std::string const& head) {
  for (std::size_t at = 0; at < all.size();) {
    std::size_t const end = std::min(all.find("\n\n", at), all.size());
    std::string const one = all.substr(at, end - at);
    if (one.substr(0, one.find('\n')).find(head) != std::string::npos) return one;
    at = end + 2;
  }
  return {};
}

bool names_are_known() { return rt::symbols().reads_files(); }

// What follows is about names. Nothing may be left to be done.
#define THRUM_SKIP_WITHOUT_NAMES() \
  if (!names_are_known()) GTEST_SKIP() << "no libdw: no names of functions to look for"

#define EXPECT_HAS(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << (part) << " is missing in:\n" << (text)

[[gnu::noinline]] void waits_in_here(chan<int>& c) {
  static_cast<void>(c.recv());
  asm volatile("");
}
[[gnu::noinline]] void calls_the_one_that_waits(chan<int>& c) {
  waits_in_here(c);
  asm volatile("");
}

class dump : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(dump);

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

[[gnu::noinline]] void loops_in_here(std::atomic<bool>& is_inside, std::atomic<bool> const& stop) {
  is_inside = true;
  while (!stop) rt::cpu_relax();
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

// --- in the kernel ---

[[gnu::noinline]] void reads_unannounced(test::gate const& kernel) {
  kernel.wait();
  asm volatile("");
}
[[gnu::noinline]] void reads_announced(test::gate const& kernel) {
  blocking([&] { kernel.wait(); });
  asm volatile("");
}
// A frame whose place cannot be told from the stack pointer.
[[gnu::noinline]] void has_a_frame_of_unknown_size(test::gate const& kernel, void (*reads)(test::gate const&),
                                                   int bytes) {
  auto* const some = static_cast<char volatile*>(__builtin_alloca(static_cast<std::size_t>(bytes)));
  some[0] = 1;
  reads(kernel);
  some[0] = 2;
}

struct entry_function {
  test::gate const& kernel;
  void (*reads)(test::gate const&);
  [[gnu::noinline]] void operator()() const {
    has_a_frame_of_unknown_size(kernel, reads, 100);
    asm volatile("");
  }
};

// What is said of a goroutine that sleeps in a read.
std::string about_one_who(void (*reads)(test::gate const&)) {
  test::gate const kernel;
  wait_group all;
  all.go(entry_function{kernel, reads});
  std::string text;
  EXPECT_TRUE(wait_until([&] {
    text = about(dumped(), "[syscall]");
    return text.find("in system call") != std::string::npos;
  }));
  kernel.open();
  all.wait();
  return text;
}

// On x86_64 the frames above a frame of unknown size are a guess, and the list may end early. AddressSanitizer's
// interceptors have such frames.
void expect_all_frames(std::string const& text, std::string_view innermost) {
  std::vector<std::string_view> names;
#if defined(__aarch64__)
  names = {innermost, "has_a_frame_of_unknown_size", "entry_function::operator()"};
#else
  if (!rt::with_asan) names.push_back(innermost);
#endif
  names.emplace_back("created by");
  std::size_t at = 0;
  for (std::string_view const name : names) {
    at = text.find(name, at);
    ASSERT_NE(at, std::string::npos) << name << " is missing, or in the wrong place, in\n" << text;
  }
}

#define THRUM_SKIP_IF_EMULATED() \
  if (test::emulated()) GTEST_SKIP() << "what the kernel says of a thread is about the emulator"

TEST_P(dump, S01_one_in_an_announced_call_is_shown_with_the_call_and_its_stack) {
  THRUM_SKIP_IF_EMULATED();
  run([] {
    std::string const text = about_one_who(reads_announced);
    EXPECT_HAS(text, "in system call " + std::to_string(SYS_read) + " (read)\n");
    THRUM_SKIP_WITHOUT_NAMES();
    expect_all_frames(text, "reads_announced");
  });
}

TEST_P(dump, S01_one_in_a_call_that_was_not_announced_as_well) {
  THRUM_SKIP_IF_EMULATED();
  run([] {
    std::string const text = about_one_who(reads_unannounced);
    EXPECT_HAS(text, "in system call " + std::to_string(SYS_read) + " (read)\n");
    THRUM_SKIP_WITHOUT_NAMES();
    expect_all_frames(text, "reads_unannounced");
  });
}

[[gnu::noinline]] void reads_by_number(test::gate const& kernel) {
  kernel.wait_by_number();
  asm volatile("");
}

TEST_P(dump, S01_the_caller_of_a_call_that_hides_it_is_guessed_and_said_to_be) {
  THRUM_SKIP_IF_EMULATED();
  run([] {
    std::string const text = about_one_who(reads_by_number);
    EXPECT_HAS(text, "in system call " + std::to_string(SYS_read) + " (read)\n");
#if defined(__aarch64__)
    EXPECT_HAS(text, "perhaps called, directly or not, from\n");
    EXPECT_EQ(text.substr(0, text.find("perhaps")).find("entry_function"), std::string::npos) << text;
#endif
    THRUM_SKIP_WITHOUT_NAMES();
    expect_all_frames(text, "has_a_frame_of_unknown_size");  // the innermost may be missing
  });
}

[[gnu::noinline]] void computes_inside_an_announced_call(std::atomic<bool>& inside, std::atomic<bool> const& stop) {
  blocking_scope const announced;
  inside = true;
  while (!stop) rt::cpu_relax();
}

TEST_P(dump, S01_one_that_computes_in_an_announced_call_is_shown_where_that_was_announced) {
  run([] {
    std::atomic<bool> inside{false};
    std::atomic<bool> stop{false};
    wait_group all;
    all.go([&] { computes_inside_an_announced_call(inside, stop); });
    ASSERT_TRUE(wait_until([&] { return inside.load(); }));
    std::string const text = about(dumped(), "[syscall]");
    stop = true;
    all.wait();
    EXPECT_HAS(text, "inside a call announced at\n");
    EXPECT_EQ(text.find("in system call"), std::string::npos) << text;
#ifdef __OPTIMIZE__  // else the call is announced in a function of the header
    THRUM_SKIP_WITHOUT_NAMES();
    EXPECT_HAS(text, "computes_inside_an_announced_call");
#endif
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
      std::atomic<bool> begun{false};  // else it would be run in place
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

class dump_fatal : public test::child_test {};

TEST_F(dump_fatal, DL01_S20_a_deadlock_shows_where_all_goroutines_wait) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  std::string expected = "all goroutines are asleep - deadlock!\n(.*\n)*goroutine 1 \\[waiting: chan receive\\]";
  if (names_are_known()) expected += "(.*\n)*.*waits_in_here";
  EXPECT_FATAL(thrum::run([] {
                 chan<int> c;
                 calls_the_one_that_waits(c);
               }),
               expected);
  THRUM_SKIP_WITHOUT_NAMES();
}

TEST_F(dump_fatal, S01_SIGQUIT_writes_it_and_ends_the_program) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  std::string expected = "SIGQUIT: quit\n(.*\n)*goroutine [0-9]+ \\[waiting: chan receive\\] quiet";
  if (names_are_known()) expected += "(.*\n)*.*waits_in_here";
  EXPECT_FATAL(thrum::run(
                   [] {
                     chan<int> c;
                     go([&] {
                       this_goroutine::set_name("quiet");
                       calls_the_one_that_waits(c);
                     });
                     while (waiting_for(wait_reason::chan_receive) != 1) thrum::yield();
                     ::kill(::getpid(), SIGQUIT);
                     for (;;) sleep_for(1ms);
                   },
                   {.max_procs = 2}),
               expected);
  THRUM_SKIP_WITHOUT_NAMES();
}

[[gnu::noinline]] void sleeps_in_the_kernel() {
  timespec const long_enough{3600, 0};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &long_enough, nullptr);
  asm volatile("");
}

bool a_goroutine_was_seen_in(long call) {
  auto const calls = read_stats().unannounced_calls;
  return std::any_of(calls.begin(), calls.end(), [&](auto const& one) { return one.system_call == call; });
}

TEST_F(dump_fatal, S01_SIGQUIT_shows_a_goroutine_that_hangs_in_a_call_that_was_not_announced) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  THRUM_SKIP_IF_EMULATED();
  std::string expected =
      "SIGQUIT: quit\n(.*\n)*goroutine [0-9]+ \\[syscall\\].*:\nin system call [0-9]+ \\(clock_nanosleep\\)\n";
  if (names_are_known()) expected += "(.*\n)*.*sleeps_in_the_kernel";
  EXPECT_FATAL(thrum::run(
                   [] {
                     go([] { sleeps_in_the_kernel(); });
                     while (!a_goroutine_was_seen_in(SYS_clock_nanosleep)) thrum::yield();
                     ::kill(::getpid(), SIGQUIT);
                     for (;;) sleep_for(1ms);
                   },
                   {.max_procs = 2}),
               expected);
  THRUM_SKIP_WITHOUT_NAMES();
}

TEST_F(dump_fatal, S01_SIGQUIT_also_beside_loops) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  std::string const expected = names_are_known() ? "SIGQUIT: quit\n(.*\n)*.*loops_in_here" : "SIGQUIT: quit\n";
  EXPECT_FATAL(
      {
        static std::atomic<bool> loops{false};
        static std::atomic<bool> never{false};
        std::thread([] {
          while (!loops) std::this_thread::yield();
          ::kill(::getpid(), SIGQUIT);
        }).detach();
        thrum::run([] { loops_in_here(loops, never); }, {.max_procs = 1});
      },
      expected);
  THRUM_SKIP_WITHOUT_NAMES();
}

TEST(quit_signal, S01_an_action_of_the_program_stays) {
  static std::atomic<int> calls{0};
  calls = 0;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { ++calls; };
  ASSERT_EQ(::sigaction(SIGQUIT, &action, &before), 0);
  run_at(2, [] {
    ::raise(SIGQUIT);
    EXPECT_TRUE(wait_until([] { return calls == 1; }));
  });
  ::sigaction(SIGQUIT, &before, nullptr);
}

}  // namespace
}  // namespace thrum
