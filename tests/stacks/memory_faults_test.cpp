// The system refuses memory at every point where thrum asks for it. run() throws, `go` throws, or a goroutine waits for
// its stack. Afterwards everything works and nothing is left mapped.
#include "base/atomic.h"
#include "os/fault.h"
#include "os/thread.h"
#include "support/baton.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/mutex.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using rt::os::call;
using rt::os::clear_faults;
using rt::os::fault_for_good;
using rt::os::inject_fault;

// The bytes of all mappings of the process, except the heap of libc, because thrum does not decide when the heap grows.
std::int64_t mapped_bytes() {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  std::uint64_t sum = 0;
  char line[512];
  while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
    if (std::strstr(line, "[heap]") != nullptr) continue;
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64, &low, &high) == 2) sum += high - low;
  }
  if (maps != nullptr) std::fclose(maps);
  return static_cast<std::int64_t>(sum);
}

// Less than the smallest mapping that thrum makes (64 KiB for a chunk of a slab or a signal stack). It allows for what
// libc's heap does.
constexpr std::int64_t heap_noise = 60 * 1024;

// How a child process ended.
struct ended_as {
  int* code;
  bool operator()(int status) const {
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return *code == 0 || *code == 2;
  }
};

// While nothing can be mapped, a thread that must be made then is the end of the program, by design, and now and then
// the scheduler wants one more than there are Ps. So whatever runs on several Ps without memory does so in a child
// process, and if that happens, once more.
#define EXPECT_SURVIVES(statement)                                            \
  for (int code = -1, attempts = 0; code != 0 && attempts < 20; ++attempts) { \
    EXPECT_EXIT(                                                              \
        {                                                                     \
          ::alarm(100);                                                       \
          statement;                                                          \
          std::exit(testing::Test::HasFailure() ? 1 : 0);                     \
        },                                                                    \
        ended_as{&code}, "^$|failed to create new OS thread");                \
    if (code != 0 && code != 2) break;                                        \
    if (attempts == 19 && code != 0) ADD_FAILURE() << "never survived";       \
  }

class no_memory : public at_every_width {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    clear_faults();
  }
  void TearDown() override { clear_faults(); }

  static void works() {
    int sum = 0;
    run([&] {
      wait_group ended;
      rt::atomic<int> ran{0};
      for (int i = 0; i < 10; ++i) ended.go([&] { ran.fetch_add(1, rt::relaxed); });
      ended.wait();
      sum = ran.load(rt::relaxed) + spawn([] { return 1; }).join();
    });
    EXPECT_EQ(sum, 11);
  }
};
THRUM_AT_EVERY_WIDTH(no_memory);

// Sets every P going, so that hardly a thread must be made later on, and lets main wait once: then there is memory for
// waiters, and main is off its first thread, which is not for goroutines.
void make_all_threads() {
  rt::atomic<int> here{0};
  wait_group ended;
  for (int i = 1; i < max_procs(); ++i) {
    ended.go([&] {
      here.fetch_add(1, rt::relaxed);
      while (here.load(rt::relaxed) < max_procs() - 1) rt::os::yield_thread();
    });
  }
  ASSERT_TRUE(spin_until([&] { return here.load(rt::relaxed) == max_procs() - 1; }));
  ended.wait();
  rt::G const& main = *rt::current_m()->current;
  ended.go([&] {
    while (main.status.load(rt::relaxed) != rt::g_status::waiting) rt::os::yield_thread();
  });
  ended.wait();
}

// One call after the other is the first to fail, until run() needs no more of them.
TEST_P(no_memory, run_throws_at_every_point_and_leaves_nothing_mapped) {
  works();
  for (std::uint64_t const times : {fault_for_good, std::uint64_t{1}}) {
    for (call const kind : {call::mmap, call::sigaltstack, call::sigaction}) {
      bool all_passed = false;
      for (std::uint64_t skip = 0; !all_passed; ++skip) {
        ASSERT_LT(skip, 100U);
        std::int64_t const before = mapped_bytes();
        inject_fault(kind, ENOMEM, skip, times);
        bool main_ran = false;
        bool threw = false;
        try {
          thrum::run([&] { main_ran = true; }, {.max_procs = procs()});
        } catch (std::system_error const& e) {
          threw = true;
          EXPECT_EQ(e.code().value(), ENOMEM) << e.what();
        } catch (std::bad_alloc const&) {
          threw = true;
        }
        all_passed = rt::os::calls_made(kind) <= skip;
        clear_faults();
        EXPECT_NE(main_ran, threw) << "skip " << skip;
        EXPECT_TRUE(!all_passed || main_ran) << "skip " << skip;
        if (!rt::with_asan && !rt::with_tsan) {
          EXPECT_LT(mapped_bytes() - before, heap_noise) << "skip " << skip;
        }
      }
    }
  }
  works();
}

// --- in a child process ---

void make_goroutines_until_refused() {
  make_all_threads();
  inject_fault(call::mmap, ENOMEM, 0, fault_for_good);
  rt::atomic<std::int64_t> ran{0};
  std::int64_t made = 0;
  bool refused = false;
  while (made < 100'000 && !refused) {
    try {
      go([&] { ran.fetch_add(1, rt::release); });
      ++made;
    } catch (std::bad_alloc const&) {
      refused = true;
    }
  }
  EXPECT_TRUE(refused || max_procs() > 1);  // other Ps may end them as fast as this goroutine makes them
  clear_faults();
  EXPECT_TRUE(wait_until([&] { return ran.load(rt::acquire) == made; })) << ran.load(rt::relaxed) << " of " << made;
  wait_group ended;
  ended.go([] {});
  ended.wait();
}

TEST_P(no_memory, go_throws_when_there_is_no_record_and_the_others_run) {
  EXPECT_SURVIVES(thrum::run(make_goroutines_until_refused, {.max_procs = procs()}));
}

void wait_until_refused() {
  make_all_threads();
  constexpr std::size_t many = 6'000;  // a chunk has room for 4,096 waiters
  std::deque<baton> begin(many);
  rt::atomic<std::size_t> waited{0};
  rt::atomic<std::size_t> refused{0};
  rt::atomic<std::size_t> ended{0};
  wait_group gate;
  gate.add(1);
  rt::atomic<std::size_t> begun{0};
  for (std::size_t i = 0; i < many; ++i) {
    go([&, i] {
      begun.fetch_add(1, rt::relaxed);
      begin[i].take();
      try {
        gate.wait();
        waited.fetch_add(1, rt::relaxed);
      } catch (std::bad_alloc const&) {
        refused.fetch_add(1, rt::relaxed);
      }
      ended.fetch_add(1, rt::release);
    });
  }
  EXPECT_TRUE(wait_until([&] { return begun.load(rt::relaxed) == many; }));  // they have their stacks
  inject_fault(call::mmap, ENOMEM, 0, fault_for_good);
  for (baton& b : begin) b.pass();
  EXPECT_TRUE(wait_until([&] { return refused.load(rt::relaxed) > 0; }));
  for (int i = 0; i < 100; ++i) yield();
  clear_faults();
  gate.done();
  EXPECT_TRUE(wait_until([&] { return ended.load(rt::acquire) == many; }));
  EXPECT_EQ(waited.load(rt::relaxed) + refused.load(rt::relaxed), many);
  EXPECT_GT(waited.load(rt::relaxed), 0U);
}

TEST_P(no_memory, waiting_throws_when_there_is_no_sudog_and_the_others_wait) {
  EXPECT_SURVIVES(thrum::run(wait_until_refused, {.max_procs = procs()}));
}

void start_a_thousand_without_memory() {
  make_all_threads();
  constexpr int many = 1000;
  rt::atomic<int> ran{0};
  wait_group ended;
  for (int i = 0; i < many; ++i) {
    ended.go([&] {
      yield();
      ran.fetch_add(1, rt::relaxed);
    });
  }
  inject_fault(call::mmap, ENOMEM, 0, fault_for_good);
  ended.wait();
  clear_faults();
  EXPECT_EQ(ran.load(rt::relaxed), many);
}

TEST_P(no_memory, T10_goroutines_that_get_no_stack_run_when_one_comes_free) {
  EXPECT_SURVIVES(for (int i = 0; i < 5; ++i) thrum::run(start_a_thousand_without_memory, {.max_procs = procs()}));
}

// All stacks are taken by goroutines that wait: each that ends lets one of the others begin.
void start_one_by_one() {
  make_all_threads();
  constexpr std::size_t many = 500;
  std::deque<baton> hold(many);
  rt::atomic<std::size_t> begun{0};
  rt::atomic<std::size_t> ended{0};
  inject_fault(call::mmap, ENOMEM, 0, fault_for_good);
  for (std::size_t i = 0; i < many; ++i) {
    go([&, i] {
      begun.fetch_add(1, rt::relaxed);
      hold[i].take();
      ended.fetch_add(1, rt::release);
    });
  }
  for (int i = 0; i < 100; ++i) yield();
  EXPECT_LT(begun.load(rt::relaxed), many);
  for (baton& b : hold) {
    b.pass();
    yield();
  }
  EXPECT_TRUE(wait_until([&] { return ended.load(rt::acquire) == many; }))
      << begun.load(rt::relaxed) << " begun, " << ended.load(rt::relaxed) << " of " << many << " ended";
  clear_faults();
}

TEST_P(no_memory, T10_one_by_one_as_stacks_come_free) {
  EXPECT_SURVIVES(thrum::run(start_one_by_one, {.max_procs = procs()}));
}

// A goroutine with a stack of its own size waits as well. What others free is of no use to it, and its waiting is no
// burden to them.
void start_one_of_another_size() {
  make_all_threads();
  rt::atomic<int> ran{0};
  wait_group ended;
  ended.add(1);
  inject_fault(call::mmap, ENOMEM, 0, fault_for_good);
  go(stack_size{8U << 20U}, [&] {
    ran.fetch_add(1, rt::relaxed);
    ended.done();
  });
  for (int round = 0; round < 10; ++round) {
    wait_group others;
    for (int i = 0; i < 50; ++i) others.go([] { yield(); });
    others.wait();
  }
  EXPECT_EQ(ran.load(rt::relaxed), 0);
  clear_faults();
  // One of its size that ends frees a stack for it.
  go(stack_size{8U << 20U}, [] {});
  ended.wait();
}

TEST_P(no_memory, T10_a_stack_of_another_size) {
  EXPECT_SURVIVES(thrum::run(start_one_of_another_size, {.max_procs = procs()}));
}

// Each goroutine that waits, and each stack that comes free, asks the system for memory a few times, not once for each
// goroutine that waits.
void start_many_without_asking_for_each() {
  make_all_threads();
  constexpr std::size_t many = 1000;
  wait_group ended;
  rt::atomic<std::size_t> ran{0};
  for (std::size_t i = 0; i < many; ++i) {
    ended.go([&] {
      ran.fetch_add(1, rt::relaxed);
      yield();
    });
  }
  inject_fault(call::mmap, ENOMEM, 0, fault_for_good);
  ended.wait();
  EXPECT_EQ(ran.load(rt::relaxed), many);
  // An attempt to map an arena halves its size until the system has room.
  EXPECT_LT(rt::os::calls_made(call::mmap), 64 * many);
  clear_faults();
}

TEST_P(no_memory, T10_goroutines_that_wait_for_a_stack_ask_for_memory_a_few_times_each) {
  EXPECT_SURVIVES(thrum::run(start_many_without_asking_for_each, {.max_procs = procs()}));
}

TEST_P(no_memory, a_run_that_cannot_unmap_returns_all_the_same) {
  inject_fault(call::munmap, EINVAL, 0, fault_for_good);
  works();
  clear_faults();
  works();
}

// --- guards ---

TEST_P(no_memory, T10_without_guard_markers_mprotect_guards) {
  inject_fault(call::madvise, ENOSYS, 0, fault_for_good);
  run([] {
    wait_group ended;
    for (int i = 0; i < 200; ++i) ended.go([] { yield(); });
    ended.wait();
    stats const seen = read_stats();
    EXPECT_EQ(seen.stacks_unguarded, 0U);
    EXPECT_GT(seen.stacks_guarded, 0U);
  });
}

TEST_P(no_memory, T10_without_any_guard_goroutines_run_and_it_is_said_once) {
  inject_fault(call::madvise, ENOSYS, 0, fault_for_good);
  inject_fault(call::mprotect, ENOMEM, 0, fault_for_good);
  testing::internal::CaptureStderr();
  int sum = 0;
  std::size_t unguarded = 0;
  run([&] {
    wait_group ended;
    rt::atomic<int> ran{0};
    for (int i = 0; i < 200; ++i) {
      ended.go([&] {
        yield();
        ran.fetch_add(1, rt::relaxed);
      });
    }
    ended.wait();
    sum = ran.load(rt::relaxed);
    unguarded = read_stats().stacks_unguarded;
  });
  std::string const said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(sum, 200);
  EXPECT_GT(unguarded, 0U);
  std::size_t const first = said.find("guard");
  EXPECT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("thrum:"), said.rfind("thrum:")) << "more than once: " << said;
}

// --- for good ---

class no_memory_for_good : public child_test {
 protected:
  // Called in a child process. Fifty goroutines wait for good. Then no memory can be mapped, and main calls `then` and
  // waits, too.
  static void deadlock_without_memory(void (*then)(wait_group& never)) {
    thrum::run(
        [then] {
          static wait_group never;
          never.add(1);
          for (int i = 0; i < 50; ++i) go([] { never.wait(); });
          for (int i = 0; i < 100; ++i) yield();
          inject_fault(call::mmap, ENOMEM, 0, fault_for_good);
          then(never);
          never.wait();
        },
        {.max_procs = 1});
  }
};

TEST_F(no_memory_for_good, T10_no_goroutine_can_ever_free_a_stack) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_FATAL(deadlock_without_memory([](wait_group& never) {
                 for (int i = 0; i < 100; ++i) go([&never] { never.wait(); });
               }),
               "deadlock!\n(.*\n)*goroutine [0-9]+ \\[waiting: stack memory\\]");
}

// sysmon, or another thread that is no M, holds the last free stacks in its hands for a moment, and starts the
// goroutines that wait afterwards.
TEST_F(no_memory_for_good, T10_a_thread_that_holds_free_stacks_is_no_deadlock) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_EXIT(deadlock_without_memory([](wait_group& never) {
                static std::optional<rt::stack_waiters::helper> helps;
                helps.emplace(this_sched().stack_waiters);
                ::signal(SIGALRM, [](int) { ::_exit(0); });
                ::alarm(2);
                for (int i = 0; i < 100; ++i) go([&never] { never.wait(); });
              }),
              testing::ExitedWithCode(0), "^$");
}

// The report is made inside the runtime, so it must not allocate, not even when no thread can be made to read the
// names.
TEST_F(no_memory_for_good, T01_a_report_without_a_thread_that_reads_names_allocates_nothing) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_FATAL(deadlock_without_memory([](wait_group&) {
                 inject_fault(call::thread_create, EAGAIN, 0, fault_for_good);
                 this_goroutine::set_name("the first");
               }),
               "deadlock!\nthrum: the names of functions cannot be had.*\n"
               "(.*\n)*goroutine 1 \\[waiting: wait group\\] the first:\n(pc 0x[0-9a-f]+\n)+"
               "(.*\n)*goroutine [0-9]+ \\[waiting: wait group\\]:\n(pc 0x[0-9a-f]+\n)+"
               "created by goroutine 1\npc 0x[0-9a-f]+\n"
               "(.*\n)*thrum: to look an address up in the executable .*, subtract 0x");
}

// A thread without a signal stack could not report an overflow.
TEST_F(no_memory_for_good, a_new_thread_gets_no_signal_stack) {
  EXPECT_FATAL(thrum::run(
                   [] {
                     inject_fault(call::sigaltstack, ENOMEM, 0, fault_for_good);
                     go([] {});
                     wait_group never;
                     never.add(1);
                     never.wait();
                   },
                   {.max_procs = 2}),
               "cannot set up the signal stack of a new thread \\(errno=12\\)");
}

}  // namespace
}  // namespace thrum::test
