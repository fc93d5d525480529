// T03: a goroutine that is preempted while it is inside the C library or the loader may hold a lock there. Other
// goroutines that need the lock go on all the same.
#include "preemption/loops.h"
#include "support/hogs.h"
#include "support/plugin.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::filling;
using test::read_the_clock;
using test::run_at;
using test::run_beside_library_loops;
using test::scaled;
using test::start_a_loop;
using test::with_slices_of;

TEST(library_locks, T01_T03_CP_04_loops_in_malloc_printf_and_throw_do_not_stop_others_at_one_p) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  run_beside_library_loops(1, static_cast<int>(scaled(100, 10)));
}

TEST(library_locks, T01_T03_CP_04_loops_in_malloc_printf_and_throw_do_not_stop_others_at_two_ps) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  run_beside_library_loops(2, static_cast<int>(scaled(100, 10)));
}

// --- T03: the loader's locks ---

int compute_a_little(dl_phdr_info*, std::size_t, void* objects) {
  for (int i = 0; i < 10'000; ++i) asm volatile("");  // enough to be paused here, with the loader's lock
  ++*static_cast<int*>(objects);
  return 0;
}

// A goroutine that is paused while it holds a lock of the loader gets its turn, although other goroutines wait for the
// lock. The loops end before the run does. The loader calls the malloc of these tests, which is part of the program,
// and a goroutine that is stopped for good there would keep the locks that the end of the program needs.
void run_beside_loader_loops(int procs, int rounds, std::chrono::seconds at_least) {
  with_slices_of const slices(1ms);
  std::string const file = test::plugin_file();
  run_at(procs, [&] {
    std::atomic<bool> stop{false};
    std::atomic<int> opened{0};
    std::atomic<int> looked_up{0};
    std::atomic<int> listed{0};
    wait_group loops;
    for (int i = 0; i < 2; ++i) {
      loops.go([&] {
        for (; !stop; ++opened) {
          void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
          ASSERT_NE(handle, nullptr);
          EXPECT_NE(::dlsym(handle, "plugin_data"), nullptr);
          EXPECT_EQ(::dlclose(handle), 0);
        }
      });
    }
    loops.go([&] {
      for (; !stop; ++looked_up) test::sink = ::dlsym(RTLD_DEFAULT, "fprintf");
    });
    loops.go([&] {
      for (; !stop; ++listed) {
        int objects = 0;
        EXPECT_EQ(::dl_iterate_phdr(compute_a_little, &objects), 0);
        EXPECT_GT(objects, 1);
      }
    });
    chan<std::string> const words;
    go([=] {
      for (int i = 0;; ++i) words.send(std::string(100, 'x') + std::to_string(i));
    });
    auto const until = clock::now() + at_least;
    for (int i = 0; i < rounds || clock::now() < until || opened == 0 || looked_up == 0 || listed == 0; ++i) {
      EXPECT_EQ(words.recv()->substr(100), std::to_string(i));
      try {
        throw std::runtime_error("the unwinder looks for its tables");
      } catch (std::runtime_error const&) {
      }
    }
    stop = true;
    loops.wait();
  });
}

// In the long form for ten seconds.
TEST(library_locks, T03_CP_04_loops_in_the_loader_do_not_stop_others_at_one_p) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  run_beside_loader_loops(1, static_cast<int>(scaled(100, 10)), test::is_long() ? 10s : 0s);
}

TEST(library_locks, T03_CP_04_loops_in_the_loader_do_not_stop_others_at_two_ps) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  run_beside_loader_loops(2, static_cast<int>(scaled(100, 10)), 0s);
}

template <class Step>
void expect_that_a_loop_stops_no_goroutine(Step step) {
  with_slices_of const slices(1ms);
  run_at(1, [&] {
    start_a_loop(std::move(step));
    for (int i = 0; i < 3; ++i) sleep_for(1ms);
  });
}

// The loop is nearly always inside the C library. The number of tries to stop it outside is limited.
TEST(library_locks, T03_a_loop_over_memset_does_not_stop_others) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  expect_that_a_loop_stops_no_goroutine(filling(1'000'000));
}

// The loop is nearly always in the page of the kernel that tells the time.
TEST(library_locks, T03_a_loop_that_reads_the_clock_does_not_stop_others) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  expect_that_a_loop_stops_no_goroutine(read_the_clock);
}

}  // namespace
}  // namespace thrum
