// Preemption beside signal handlers of the program, and beside sections that block signals. No other thread may have to
// wait for what they hold. The tests run in child processes, because the faults that they look for would block the
// whole process.
#include "core/current.h"
#include "core/sched.h"
#include "os/signal.h"
#include "os/thread.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include "sys/preempt.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::preempted;
using test::run_at;
using test::with_slices_of;

// --- a storm of a profiler's signals ---

std::atomic<bool> profile_is_locked{false};
std::atomic<std::uint64_t> samples{0};

// As a profiler adds a sample to its tables: under a lock on which its handlers spin.
void add_sample() {
  while (profile_is_locked.exchange(true, std::memory_order_acquire)) rt::cpu_relax();
  for (int i = 0; i < 100'000; ++i) asm volatile("");
  profile_is_locked.store(false, std::memory_order_release);
  samples.fetch_add(1, std::memory_order_relaxed);
}

sigset_t only(int signal) {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  return one;
}

// Sends every thread of the process one after the other, its own excepted.
class storm {
 public:
  explicit storm(int flags) {
    struct sigaction profiler {};
    profiler.sa_handler = [](int) { add_sample(); };
    profiler.sa_flags = flags | SA_RESTART;
    EXPECT_EQ(::sigaction(SIGPROF, &profiler, nullptr), 0);
    sender_ = std::thread([this] { send(); });
  }
  ~storm() {
    ends_ = true;
    sender_.join();
  }
  storm(storm const&) = delete;
  storm& operator=(storm const&) = delete;

 private:
  void send() const {
    sigset_t const profiler = only(SIGPROF);
    ::pthread_sigmask(SIG_BLOCK, &profiler, nullptr);
    while (!ends_) {
      for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
        int const tid = std::stoi(task.path().filename());
        if (tid != rt::os::current_tid()) ::syscall(SYS_tgkill, ::getpid(), tid, SIGPROF);
        ::usleep(50);
      }
    }
  }

  std::atomic<bool> ends_{false};
  std::thread sender_;
};

// Goroutines that compute, and goroutines that are in the runtime all the time, until 300 have been preempted. On a
// busy machine it is over after a second, if only one has been preempted and one sample was taken.
template <class Compute>
void preempt_beside(int procs, Compute compute) {
  with_slices_of const slices(1ms);
  run_at(procs, [&] {
    std::atomic<bool> stop{false};
    wait_group all;
    for (int i = 0; i < 3; ++i) {
      all.go([&] {
        while (!stop) compute();
      });
    }
    for (int i = 0; i < 2; ++i) {
      all.go([&] {
        while (!stop) thrum::yield();
      });
    }
    auto const limit = std::chrono::steady_clock::now() + 1s;
    auto const none_yet = [] { return preempted(read_stats()) == 0 || samples == 0; };
    while (none_yet() || (preempted(read_stats()) < 300 && std::chrono::steady_clock::now() < limit)) sleep_for(1ms);
    stop = true;
    all.wait();
  });
}

class beside_a_profiler : public test::child_test {};

void compute() {
  for (int i = 0; i < 1'000; ++i) asm volatile("");
}

TEST_F(beside_a_profiler, T15_a_goroutine_is_not_paused_inside_a_handler_on_the_signal_stack) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  EXPECT_EXIT(
      {
        storm const signals(SA_ONSTACK);
        preempt_beside(1, compute);
        preempt_beside(2, compute);
        std::_Exit(testing::Test::HasFailure() ? 1 : 7);
      },
      testing::ExitedWithCode(7), "");
}

TEST_F(beside_a_profiler, T15_a_goroutine_is_not_paused_inside_a_handler_on_its_own_stack) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  EXPECT_EXIT(
      {
        storm const signals(0);
        preempt_beside(1, compute);
        preempt_beside(2, compute);
        std::_Exit(testing::Test::HasFailure() ? 1 : 7);
      },
      testing::ExitedWithCode(7), "");
}

TEST_F(beside_a_profiler, T15_a_goroutine_is_not_paused_while_it_blocks_a_signal) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  EXPECT_EXIT(
      {
        storm const signals(SA_ONSTACK);
        auto const compute_with_the_profiles_lock = [] {
          sigset_t const profiler = only(SIGPROF);
          sigset_t before;
          ::pthread_sigmask(SIG_BLOCK, &profiler, &before);
          add_sample();
          ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
          compute();
        };
        preempt_beside(1, compute_with_the_profiles_lock);
        preempt_beside(2, compute_with_the_profiles_lock);
        std::_Exit(testing::Test::HasFailure() ? 1 : 7);
      },
      testing::ExitedWithCode(7), "");
}

// --- the threads that serve the runtime ---

std::string first_line_with(std::filesystem::path const& file, std::string const& beginning) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(beginning)) return line;
  }
  return "";
}

// The mask of a thread by its name; 0: there is none yet, because threads name themselves.
std::uint64_t blocked_on(std::string const& name) {
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (first_line_with(task.path() / "comm", "thrum-") != name) continue;
    std::string const blocked = first_line_with(task.path() / "status", "SigBlk:");
    return std::stoull(blocked.substr(blocked.find_first_not_of(" \t", 7)), nullptr, 16);
  }
  return 0;
}

// What a profiler's handler waits for may be held by a goroutine whose turn depends on these threads.
TEST(threads_of_the_runtime, T15_sysmon_and_the_thread_maker_take_no_profilers_signals) {
  run_at(1, [] {
    for (std::string const name : {"thrum-sysmon", "thrum-maker"}) {
      std::uint64_t mask = 0;
      EXPECT_TRUE(test::wait_until([&] { return (mask = blocked_on(name)) != 0; })) << name;
      for (int const signal : {SIGPROF, SIGALRM, SIGINT, SIGUSR1, SIGURG, SIGPIPE}) {
        EXPECT_NE(mask >> (signal - 1) & 1U, 0U) << name << " takes " << signal;
      }
    }
  });
}

// --- where a goroutine is paused, shown without waiting for a signal to meet it there ---

struct interrupted_code {
  sigset_t mask{};
  stack_t signal_stack{};
  std::uintptr_t stack_pointer = 0;
};

std::uintptr_t here() { return reinterpret_cast<std::uintptr_t>(&here); }

void is_asked_at(interrupted_code const& code) {
  rt::M& m = *rt::current_m();
  m.pause.set_reach(rt::pause_in::libc);
  m.pause.ask_for(m.p->schedtick.load(rt::relaxed));
  ucontext_t interrupted{};
  interrupted.uc_sigmask = code.mask;
  interrupted.uc_stack = code.signal_stack;
#if defined(__x86_64__)
  interrupted.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(here());
  interrupted.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(code.stack_pointer);
#else
  interrupted.uc_mcontext.pc = here();
  interrupted.uc_mcontext.sp = code.stack_pointer;
#endif
  rt::answer_pause_signal(&interrupted);
}

// Whether another goroutine gets its turn. Without a thread for it the request is in vain, and one is ordered.
void expect_pause(bool expected, interrupted_code const& code) {
  std::atomic<bool> other_ran{false};
  join_handle other = spawn([&] { other_ran = true; });
  if (expected) {
    while (!other_ran) is_asked_at(code);
  } else {
    for (int i = 0; i < 1'000; ++i) is_asked_at(code);
    EXPECT_FALSE(other_ran);
  }
  other.join();
}

interrupted_code plain_code() {
  interrupted_code code;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &code.mask);
  ::sigaltstack(nullptr, &code.signal_stack);
  code.stack_pointer = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return code;
}

TEST(places_to_pause, T15_a_goroutine_makes_room_neither_with_another_mask_nor_on_a_signal_stack) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    interrupted_code const plain = plain_code();
    expect_pause(true, plain);
    interrupted_code blocks_one = plain;
    ::sigaddset(&blocks_one.mask, SIGPROF);
    expect_pause(false, blocks_one);
    interrupted_code on_signal_stack = plain;
    on_signal_stack.stack_pointer = reinterpret_cast<std::uintptr_t>(plain.signal_stack.ss_sp) + 4096;
    expect_pause(false, on_signal_stack);
    expect_pause(true, plain);
  });
}

// A request that came inside the runtime is seen when the goroutine leaves it, by a call that never switches.
void is_asked_in_the_runtime() {
  rt::M& m = *rt::current_m();
  m.pause.ask_for(m.p->schedtick.load(rt::relaxed));
  m.attention.fetch_or(rt::m_attend::pause, rt::relaxed);
  go([] {});
}

TEST(places_to_pause, T15_a_goroutine_that_blocks_a_signal_is_not_paused_as_it_leaves_the_runtime) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    std::atomic<bool> other_ran{false};
    sigset_t const profiler = only(SIGPROF);
    sigset_t before;
    ::pthread_sigmask(SIG_BLOCK, &profiler, &before);
    join_handle other = spawn([&] { other_ran = true; });
    for (int i = 0; i < 1'000; ++i) is_asked_in_the_runtime();
    EXPECT_FALSE(other_ran);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    while (!other_ran) is_asked_in_the_runtime();
    other.join();
  });
}

// --- a mask that is left behind ---

class changed_mask : public test::child_test, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(of, changed_mask, testing::Values(SIGURG, SIGUSR1));

// The first goroutine is asked to make room, and goes on because of its mask. The second has its thread after it.
TEST_P(changed_mask, the_next_goroutine_on_that_thread_is_preempted) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  EXPECT_EXIT(
      {
        with_slices_of const slices(1ms);
        static int const signal = GetParam();
        static std::atomic<bool> computes{false};
        run_at(1, [] {
          test::leave_m0();
          go([] {
            sigset_t const blocked = only(signal);
            ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
            test::compute_for(100ms);  // of CPU time: on a busy machine it would not be asked in 100 ms by the clock
            go([] {
              computes = true;
              for (;;) asm volatile("");
            });
          });
          while (!computes) thrum::yield();
        });
        ::_exit(7);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace thrum
