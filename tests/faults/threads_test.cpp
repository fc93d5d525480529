// Threads that cannot be had (S22), and too many of them (S21): the program ends with a message that says what to do.
#include "base/atomic.h"
#include "conformance/child_test.h"
#include "os/fault.h"
#include "os/thread.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/run.h>
#include <thrum/wait_group.h>

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using rt::os::call;
using rt::os::clear_faults;
using rt::os::inject_fault;

// Wants `wanted` Ps at once, besides its own.
void want_threads(int wanted, options chosen) {
  thrum::run(
      [wanted] {
        rt::atomic<int> running{0};
        for (int i = 0; i < wanted; ++i) {
          go([&] {
            running.fetch_add(1, rt::relaxed);
            for (;;) rt::os::yield_thread();  // keeps its P
          });
        }
        while (running.load(rt::relaxed) < wanted) rt::os::yield_thread();
      },
      chosen);
}

class threads : public child_test {};

constexpr int own_threads = 2;  // the first that a run makes: the thread maker and sysmon

TEST_F(threads, S16_run_throws_when_a_thread_of_its_own_cannot_be_created) {
  char const* const names[own_threads] = {"makes threads", "sysmon"};
  for (int i = 0; i < own_threads; ++i) {
    inject_fault(call::thread_create, EAGAIN, i);
    try {
      run([] { ADD_FAILURE() << "main must not start"; }, {.max_procs = 2});
      ADD_FAILURE() << "no exception";
    } catch (std::system_error const& error) {
      EXPECT_EQ(error.code().value(), EAGAIN);
      EXPECT_NE(std::string_view(error.what()).find(names[i]), std::string_view::npos);
    }
  }
  int answer = 0;
  run([&] { answer = 42; }, {.max_procs = 2});
  EXPECT_EQ(answer, 42) << "and nothing is lost";
}

TEST_F(threads, S22_a_thread_that_cannot_be_created_ends_the_program) {
  EXPECT_FATAL(
      {
        inject_fault(call::thread_create, ENOMEM, own_threads);
        want_threads(1, {.max_procs = 2});
      },
      "^thrum: failed to create new OS thread \\(have 1 already; errno=12\\)\n$");
  EXPECT_FATAL(
      {
        inject_fault(call::thread_create, EPERM, own_threads + 3);
        want_threads(7, {.max_procs = 8});
      },
      "^thrum: failed to create new OS thread \\(have 4 already; errno=1\\)\n$");
}

TEST_F(threads, S22_the_hint_at_the_limit_comes_with_EAGAIN_only) {
  EXPECT_FATAL(
      {
        inject_fault(call::thread_create, EAGAIN, own_threads + 1);
        want_threads(3, {.max_procs = 4});
      },
      "^thrum: failed to create new OS thread \\(have 2 already; errno=11\\)\nthrum: .*ulimit -u.*\n$");
}

// At P=1 a thread is needed as soon as main waits.
TEST_F(threads, S22_when_main_first_waits) {
  EXPECT_FATAL(
      {
        inject_fault(call::thread_create, EAGAIN, own_threads);
        thrum::run(
            [] {
              wait_group ended;
              ended.go([] {});
              ended.wait();
            },
            {.max_procs = 1});
      },
      "^thrum: failed to create new OS thread \\(have 1 already; errno=11\\)\n");
}

TEST_F(threads, S21_passing_the_limit_ends_the_program) {
  for (int const limit : {1, 2, 5}) {
    std::string const message = "^thrum: .*exceeds " + std::to_string(limit) + "-thread limit.*max_threads";
    EXPECT_FATAL(want_threads(7, {.max_procs = 8, .max_threads = limit}), message);
  }
}

TEST(threads_within_the_limit, S21_as_many_as_it_says_are_fine) {
  // The first thread, one for each P, and one more for each that has just given its P up and does not sleep yet.
  run_with({.max_procs = 4, .max_threads = 9}, [] {
    for (int round = 0; round < 50; ++round) {
      rt::atomic<int> running{0};
      wait_group ended;
      for (int i = 0; i < 4; ++i) {
        ended.go([&] {
          running.fetch_add(1, rt::relaxed);
          while (running.load(rt::relaxed) < 4) rt::os::yield_thread();
        });
      }
      ended.wait();
    }
  });
}

TEST(threads_within_the_limit, S21_a_limit_out_of_range_names_the_rule) {
  for (int const limit : {0, -1, 2'000'000}) {
    try {
      thrum::run([] {}, {.max_threads = limit});
      ADD_FAILURE() << limit << " was accepted";
    } catch (std::invalid_argument const& e) {
      EXPECT_NE(std::string(e.what()).find(std::to_string(limit)), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("max_threads"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace thrum::test
