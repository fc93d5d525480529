// Threads that take long to end because a destructor of a thread-local variable takes long. The runtime does not wait
// for them (T01, T02).
#include "boot/quota.h"
#include "core/sched.h"
#include "support/child_test.h"
#include "support/descriptors.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;

std::atomic<int> ending{0};
std::atomic<int> ended{0};
std::atomic<bool> may_end{false};

struct long_in_ending {
  ~long_in_ending() {
    ++ending;
    while (!may_end) std::this_thread::yield();
    ++ended;
  }
  int touched = 0;
};

thread_local long_in_ending keeps_its_thread;

// A goroutine that ends locked ends its thread.
void end_a_thread_that_takes_long() {
  ending = ended = 0;
  may_end = false;
  go([] {
    lock_os_thread();
    ++keeps_its_thread.touched;
  });
  EXPECT_TRUE(test::wait_until([] { return ending > 0; }));
}

void wait_for_its_end() {
  may_end = true;
  EXPECT_TRUE(test::wait_until([] { return ended == ending; }));
}

TEST(threads_that_end, T01_one_that_takes_long_does_not_keep_others_from_being_made) {
  run_at(1, [] {
    end_a_thread_that_takes_long();
    constexpr int calls = 10;
    std::atomic<int> inside{0};
    wait_group all;
    for (int i = 0; i < calls; ++i) {
      all.go([&] {
        blocking([&] {
          ++inside;
          EXPECT_TRUE(test::spin_until([&] { return inside == calls; }));  // each call has a thread of its own
        });
      });
    }
    all.wait();
    EXPECT_EQ(ended, 0);
    wait_for_its_end();
  });
}

TEST(threads_that_end, T02_one_that_takes_long_does_not_keep_the_run) {
  run_at(1, [] { end_a_thread_that_takes_long(); });
  EXPECT_EQ(ended, 0);
  int next = 0;
  run_at(1, [&] { next = 1; });
  EXPECT_EQ(next, 1);
  wait_for_its_end();
}

class runs_that_leave_a_goroutine : public test::child_test {};

TEST_F(runs_that_leave_a_goroutine, T02_no_descriptor_is_left_behind) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  EXPECT_EXIT(
      {
        test::with_slices_of const slices(1ms);
        for (int i = 0; i < 10; ++i) {
          run_at(1, [] {
            go([] { test::loop_for_ever(); });
            for (int slept = 0; slept < 3; ++slept) sleep_for(1ms);
          });
        }
        auto const is_a_look = [](std::string const& what) { return what.ends_with("/syscall"); };
        std::exit(test::descriptors_of(is_a_look) == 0 ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

int threads_called(std::string_view name) {
  int count = 0;
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;
    std::ifstream(task.path() / "comm") >> found;
    count += found == name ? 1 : 0;
  }
  return count;
}

// The world cannot stop while a loop runs that must not be interrupted. So a thread that adapts the number of Ps to the
// machine's CPUs has to wait, and only one thread at a time does so.
TEST_F(runs_that_leave_a_goroutine, S23_one_thread_at_a_time_follows_the_machine) {
  EXPECT_EXIT(
      {
        static std::atomic<bool> stop{false};
        test::run_with({.max_procs = 3, .async_preemption = false}, [] {
          std::atomic<bool> has_begun{false};
          rt::Sched& s = test::this_sched();
          s.procs_by_hand.store(false, rt::relaxed);
          wait_group all;
          all.go([&] {
            has_begun = true;
            while (!stop) rt::cpu_relax();
          });
          while (!has_begun) yield();
          rt::follow_cpus(s);
          bool const is_there = test::spin_until([] { return threads_called("thrum-resize") == 1; });
          for (int i = 0; i < 5; ++i) rt::follow_cpus(s);
          int const others = threads_called("thrum-resize") - 1;
          stop = true;
          all.wait();
          std::exit(is_there && others <= 0 ? 7 : 1);
        });
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace thrum
