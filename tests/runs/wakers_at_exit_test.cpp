// exit() on a goroutine stops the scheduler for good, and its run does not end. A foreign thread that releases an
// object for which a goroutine waits sleeps until the program ends. It must not look again and again whether the run
// has ended.
#include "os/thread.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/kept.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

constexpr int as_expected = 7;

std::atomic<int> waker_tid{0};
std::atomic<bool> is_held{false};
std::atomic<bool> may_release{false};
std::atomic<bool> releases{false};

// How often the thread has slept.
long sleeps_of(int tid) {
  std::ifstream status("/proc/self/task/" + std::to_string(tid) + "/status");
  std::string word;
  while (status >> word) {
    long count = 0;
    if (word == "voluntary_ctxt_switches:" && status >> count) return count;
  }
  return -1;
}

// Called by exit(), after the other goroutines have been stopped.
void count_sleeps() {
  may_release = true;
  while (!releases) std::this_thread::yield();
  std::this_thread::sleep_for(50ms);  // if the thread needs longer to come to rest, the test is stricter
  long const before = sleeps_of(waker_tid);
  std::this_thread::sleep_for(500ms);
  long const more = sleeps_of(waker_tid) - before;
  std::cerr << "it has slept " << more << " times\n";
  ::_exit(before >= 0 && more < 500 ? as_expected : 1);
}

class wakers_at_exit : public child_test {};

TEST_F(wakers_at_exit, sleep_until_the_program_ends) {
  EXPECT_EXIT(
      {
        std::atexit(count_sleeps);
        auto& held = kept<mutex>();
        std::thread([&held] {
          waker_tid = rt::os::current_tid();
          held.lock();
          is_held = true;
          while (!may_release) std::this_thread::sleep_for(1ms);
          releases = true;
          held.unlock();
        }).detach();
        while (!is_held) std::this_thread::yield();
        run_at(2, [&held] {
          go([&held] { held.lock(); });
          static_cast<void>(wait_until([] { return waiting_for(rt::wait_reason::mutex) == 1; }));
          std::exit(1);
        });
      },
      testing::ExitedWithCode(as_expected), "");
}

}  // namespace
}  // namespace thrum::test
