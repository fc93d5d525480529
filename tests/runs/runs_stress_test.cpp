// T02, T03, T12, S38: a process starts and ends its runtime a thousand times, by run() and embedded, with foreign
// threads that use the runtime, do not use it and end at any time. Afterwards it has no more memory, threads and
// descriptors than before.
#include "base/platform.h"
#include "base/random.h"
#include "os/memory.h"
#include "os/thread.h"
#include "support/child.h"
#include "support/scale.h"
#include "support/seed.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

struct holdings {
  std::int64_t resident = 0;
  std::int64_t mappings = 0;
  std::int64_t threads = 0;
  std::int64_t descriptors = 0;

  static holdings now() {
    std::ifstream maps("/proc/self/maps");
    std::int64_t lines = 0;
    for (std::string line; std::getline(maps, line);) ++lines;
    return {static_cast<std::int64_t>(rt::os::resident_bytes()), lines, rt::os::count_process_threads(),
            std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {})};
  }
};

// Some of everything: waits, timers, calls, a locked goroutine, a large stack, a child that is joined, a change of the
// number of Ps, and goroutines that have not ended when the run ends.
void work(std::uint64_t seed) {
  rt::random_source random(seed);
  mutex guard;
  std::int64_t guarded = 0;
  chan<int> values(random.below(3));
  wait_group all;
  for (int i = 0; i < 8; ++i) {
    all.go([&] {
      for (int k = 0; k < 5; ++k) values.send(k);
      std::lock_guard const lock(guard);
      ++guarded;
    });
  }
  all.go([&] {
    os_thread_lock const locked;
    for (int i = 0; i < 40; ++i) EXPECT_TRUE(values.recv().has_value());
  });
  all.go([] { sleep_for(20us); });
  all.go([] { blocking([] { std::this_thread::yield(); }); });
  all.go([] { go(stack_size{1U << 20U}, [] {}); });
  EXPECT_EQ(spawn([] { return 1; }).join(), 1);
  if (random.below(4) == 0) set_max_procs(1 + static_cast<int>(random.below(6)));
  all.wait();
  EXPECT_EQ(guarded, 8);
}

// True while a run is alive. A thread that is about to use the runtime when the run ends sleeps for good, so the end of
// the run waits for the visitors.
std::atomic<bool> door_is_open{false};
std::atomic<int> inside_or_about_to_be{0};

// And for goroutines, which may be on their way out: one that was interrupted there would keep its thread.
enum class end_of : bool { run, embedded };

class open_door {
 public:
  explicit open_door(end_of what) : what_(what) { door_is_open = true; }
  ~open_door() {
    door_is_open = false;
    while (inside_or_about_to_be != 0 || num_goroutines() > (what_ == end_of::run ? 1 : 0)) {
      if (what_ == end_of::run) yield();
      std::this_thread::yield();
    }
  }
  open_door(open_door const&) = delete;
  open_door& operator=(open_door const&) = delete;

 private:
  end_of what_;
};

// A thread from outside that uses one run after another.
class visitor {
 public:
  visitor() : thread_([this] { visit(); }) {}
  ~visitor() {
    stop_ = true;
    thread_.join();
  }
  visitor(visitor const&) = delete;
  visitor& operator=(visitor const&) = delete;

 private:
  void visit() const {
    while (!stop_) {
      ++inside_or_about_to_be;
      if (door_is_open) {
        chan<int> there(1);
        go([there] { there.send(7); });
        EXPECT_EQ(there.recv(), 7);
      }
      --inside_or_about_to_be;
      std::this_thread::yield();
    }
  }

  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// One run in sixteen has 64 Ps.
void once_by_run(std::uint64_t seed) {
  thrum::run(
      [seed] {
        open_door const open(end_of::run);
        this_goroutine::set_name("main");
        work(seed);
      },
      {.max_procs = seed / 8 % 16 == 0 ? 64 : 1 + static_cast<int>(seed % 5)});
}

void once_with_a_thread(std::uint64_t seed) {
  thrum::run(
      [seed] {
        open_door const open(end_of::run);
        chan<int> meeting;
        std::thread outside([&] {
          for (int i = 0; i < 5; ++i) meeting.send(i);
          meeting.close();
        });
        int sum = 0;
        for (int const value : meeting) sum += value;
        EXPECT_EQ(sum, 10);
        work(seed);
        blocking([&] { outside.join(); });
      },
      {.max_procs = 1 + static_cast<int>(seed % 3)});
}

void once_embedded(std::uint64_t seed) {
  runtime const embedded({.max_procs = 1 + static_cast<int>(seed % 4)});
  open_door const open(end_of::embedded);
  wait_group all;
  for (int i = 0; i < 3; ++i) all.go([seed] { work(seed); });
  std::thread other([&] {
    wait_group its_own;
    its_own.go([] { sleep_for(10us); });
    its_own.wait();
  });
  all.wait();
  other.join();
}

void one_after_the_other(std::int64_t runs, rt::random_source& random) {
  for (std::int64_t i = 0; i < runs; ++i) {
    std::uint64_t const seed = random.next();
    switch (i % 3) {
      case 0: once_by_run(seed); break;
      case 1: once_with_a_thread(seed); break;
      default: once_embedded(seed); break;
    }
  }
}

void runs_that_leave_nothing(std::int64_t visitors) {
  rt::random_source random(test::test_seed());
  std::int64_t const runs = test::scaled(test::is_long() ? 10'000 : 1'000, 100);
  holdings before;
  holdings after;
  {
    std::vector<std::unique_ptr<visitor>> others;
    for (std::int64_t i = 0; i < visitors; ++i) others.push_back(std::make_unique<visitor>());
    one_after_the_other(runs / 5, random);  // what is kept for good is there then
    before = holdings::now();
    one_after_the_other(runs, random);
    EXPECT_TRUE(test::wait_until([&] {
      after = holdings::now();
      return after.threads <= before.threads;
    })) << after.threads
        << " threads, before " << before.threads;
  }
  EXPECT_LE(after.descriptors, before.descriptors);
  if (rt::with_asan || rt::with_tsan || test::emulated()) return;  // what is mapped is the tool's
  EXPECT_LE(after.mappings, before.mappings + 30);
  EXPECT_LE(after.resident, before.resident + 8'000'000);  // 8 KB a run would be a leak
}

TEST(many_lives, T02_T12_a_thousand_runs_leave_nothing_behind) { runs_that_leave_nothing(0); }

TEST(many_lives, S38_a_thousand_runs_beside_threads_that_come_and_go) { runs_that_leave_nothing(2); }

}  // namespace
}  // namespace thrum
