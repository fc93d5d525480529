// exit() on a goroutine: the others are stopped before static objects are destroyed (sched/exit_stage.h).
#include "support/child_test.h"
#include "support/hogs.h"
#include "support/leak_checks.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::with_slices_of;

enum class at_exit : std::uint8_t { nothing, look_at_others, close_channel, wait };
std::atomic<at_exit> wanted{at_exit::nothing};
std::atomic<std::uint64_t> rounds{0};
chan<int>* shared_channel = nullptr;

// Destroyed by exit(), as every static object of a program is.
struct witness {
  ~witness() {
    switch (wanted.load()) {
      case at_exit::nothing: break;
      case at_exit::look_at_others: {
        std::uint64_t const before = rounds;
        for (auto const until = std::chrono::steady_clock::now() + 20ms; std::chrono::steady_clock::now() < until;) {
          if (rounds != before) ::_exit(1);
        }
        break;
      }
      case at_exit::close_channel:
        if (shared_channel->try_send(2)) ::_exit(1);
        shared_channel->close();
        break;
      case at_exit::wait: static_cast<void>(shared_channel->recv()); break;
    }
  }
};
witness made_before_main;

// Goroutines that use what exit() destroys: some compute, some are in the runtime most of the time.
void use_statics() {
  for (int i = 0; i < 2; ++i) {
    go([] {
      for (;;) ++rounds;
    });
    go([] {
      for (;; ++rounds) thrum::yield();
    });
  }
  EXPECT_TRUE(test::wait_until([] { return rounds > 1'000; }));
}

class exit_on_a_goroutine : public test::child_test, public testing::WithParamInterface<int> {};
THRUM_AT_WIDTHS(exit_on_a_goroutine, 1, 2, 8);

TEST_P(exit_on_a_goroutine, the_others_stop_before_statics_are_destroyed) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  EXPECT_EXIT(
      {
        wanted = at_exit::look_at_others;
        with_slices_of const slices(1ms);
        run_at(GetParam(), [] {
          use_statics();
          std::exit(7);
        });
      },
      testing::ExitedWithCode(7), "");
}

// Main is on the first thread, which the end of a run need not stop.
TEST_P(exit_on_a_goroutine, main_is_stopped_too) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  EXPECT_EXIT(
      {
        wanted = at_exit::look_at_others;
        with_slices_of const slices(1ms);
        run_at(GetParam(), [] {
          go([] {
            use_statics();
            std::exit(7);
          });
          for (;;) ++rounds;
        });
      },
      testing::ExitedWithCode(7), "");
}

// Main is locked to the first thread, which sleeps in main's frames and is told to end.
TEST_P(exit_on_a_goroutine, main_is_stopped_where_it_waits_on_its_own_thread) {
  EXPECT_EXIT(
      {
        test::do_not_look_for_leaks();
        run_at(GetParam(), [] {
          lock_os_thread();
          chan<int> never;
          go([] { std::exit(7); });
          static_cast<void>(never.recv());
        });
      },
      testing::ExitedWithCode(7), "");
}

TEST_P(exit_on_a_goroutine, main_is_stopped_where_it_comes_back_from_a_call) {
  EXPECT_EXIT(
      {
        run_at(GetParam(), [] {
          lock_os_thread();
          std::atomic<bool> exits{false};
          go([&] {
            exits = true;
            std::exit(7);
          });
          blocking([&] {
            while (!exits) ::sched_yield();
          });
          for (;;) thrum::yield();
        });
      },
      testing::ExitedWithCode(7), "");
}

TEST_P(exit_on_a_goroutine, of_several_that_call_it_one_wins) {
  EXPECT_EXIT(
      {
        run_at(GetParam(), [] {
          for (int i = 0; i < 10; ++i) {
            go([] { std::exit(7); });
          }
          for (;;) thrum::yield();
        });
      },
      testing::ExitedWithCode(7), "");
}

TEST_P(exit_on_a_goroutine, main_that_ends_meanwhile_does_not_disturb_it) {
  EXPECT_EXIT(
      {
        static std::atomic<bool> exits{false};
        run_at(GetParam(), [] {
          go([] {
            exits = true;
            std::exit(7);
          });
          while (!exits) thrum::yield();
        });
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST_P(exit_on_a_goroutine, it_may_be_called_inside_a_blocking_call_and_beside_others) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  EXPECT_EXIT(
      {
        wanted = at_exit::look_at_others;
        with_slices_of const slices(1ms);
        run_at(GetParam(), [] {
          static std::array<int, 2> pipe_ends{};
          EXPECT_EQ(::pipe(pipe_ends.data()), 0);
          static std::atomic<bool> reads{false};
          go([] {
            blocking([] {
              reads = true;
              char byte = 0;
              return ::read(pipe_ends[0], &byte, 1);
            });
          });
          EXPECT_TRUE(test::wait_until([] { return reads.load(); }));
          use_statics();
          blocking([] { std::exit(7); });
        });
      },
      testing::ExitedWithCode(7), "");
}

TEST_P(exit_on_a_goroutine, a_destructor_may_use_a_channel_without_waiting) {
  EXPECT_EXIT(
      {
        wanted = at_exit::close_channel;
        run_at(GetParam(), [] {
          shared_channel = new chan<int>(1);  // never destroyed
          shared_channel->send(1);
          go([] { shared_channel->send(2); });
          thrum::yield();
          std::exit(7);
        });
      },
      testing::ExitedWithCode(7), "");
}

TEST_P(exit_on_a_goroutine, a_destructor_that_waits_for_others_ends_the_program_with_a_message) {
  EXPECT_FATAL(
      {
        wanted = at_exit::wait;
        run_at(GetParam(), [] {
          shared_channel = new chan<int>;
          go([] {
            while (wanted != at_exit::nothing) thrum::yield();
            shared_channel->send(1);
          });
          std::exit(7);
        });
      },
      "has called exit\\(\\) and waits");
}

// The static object is destroyed on the thread of the goroutine that has called exit().
class exit_beside_a_static_runtime : public test::child_test {};

TEST_F(exit_beside_a_static_runtime, it_is_destroyed_on_the_goroutine_that_called_exit) {
  EXPECT_EXIT(
      {
        static std::optional<runtime> embedded;
        embedded.emplace(options{.max_procs = 2});
        go([] { std::exit(7); });
        for (;;) ::pause();
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace thrum
