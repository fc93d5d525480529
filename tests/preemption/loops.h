// Goroutines that loop inside the C library, and other loops without an end.
#pragma once

#include "base/atomic.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {

// Makes a goroutine that calls `step` without an end, and returns when it has begun. With one P the goroutine has been
// preempted then.
template <class Step>
void start_a_loop(Step step) {
  std::atomic<bool> has_begun{false};
  go([&has_begun, step = std::move(step)]() mutable {
    has_begun = true;
    for (;;) step();
  });
  while (!has_begun) yield();
}
inline void start_a_loop() {
  start_a_loop([] { rt::cpu_relax(); });
}

inline void* volatile sink;  // what is stored here is not optimised away

// A thread that calls this in a loop is nearly always inside the C library.
struct filling {
  explicit filling(std::size_t bytes) : block(bytes) {}
  void operator()() {
    std::memset(block.data(), 1, block.size());
    sink = block.data();
  }
  std::vector<char> block;
};

inline void loop_in_malloc() {
  for (std::size_t i = 0;; ++i) {
    void* const block = std::malloc(i % 5000 + 1);
    sink = block;
    std::free(block);
  }
}

inline void loop_in_printf() {
  std::FILE* const nowhere = std::fopen("/dev/null", "w");
  for (int i = 0;; ++i) std::fprintf(nowhere, "%d %s %f\n", i, "text", i * 0.5);
}

inline void loop_in_throw() {
  for (int i = 0;; ++i) {
    try {
      throw std::runtime_error(std::to_string(i));
    } catch (std::runtime_error const& error) {
      sink = const_cast<char*>(error.what());
    }
  }
}

// Main receives `rounds` strings beside goroutines that loop in malloc, printf and throw.
inline void run_beside_library_loops(int procs, int rounds) {
  with_slices_of const slices(std::chrono::milliseconds(1));
  run_at(procs, [=] {
    go(loop_in_malloc);
    go(loop_in_printf);
    go(loop_in_throw);
    chan<std::string> const words;
    go([=] {
      for (int i = 0;; ++i) words.send(std::string(100, 'x') + std::to_string(i));
    });
    for (int i = 0; i < rounds; ++i) {
      EXPECT_EQ(words.recv()->substr(100), std::to_string(i));
      std::vector<std::string> const some(10, std::string(1000, 'y'));
      EXPECT_EQ(some.back().size(), 1000U);
    }
  });
}

inline void read_the_clock() { static_cast<void>(std::chrono::steady_clock::now()); }

}  // namespace thrum::test
