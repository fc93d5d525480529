// S23: the number of Ps comes from the options, else from THRUM_MAXPROCS, else from GOMAXPROCS, else from the machine.
// In the last case it follows changes of the machine. Each test runs in a child process, because that has an
// environment of its own.
#include "boot/quota.h"
#include "core/current.h"
#include "support/child_test.h"
#include "support/slices.h"
#include "support/tid_of.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <string>

#include <gtest/gtest.h>
#include <sched.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

// nullptr, 0: not set.
struct said {
  char const* by_thrum_maxprocs = nullptr;
  char const* by_gomaxprocs = nullptr;
  int by_options = 0;
};

std::ostream& operator<<(std::ostream& out, said const& all) {
  auto const text = [](char const* value) { return value == nullptr ? "(unset)" : value; };
  return out << "THRUM_MAXPROCS=" << text(all.by_thrum_maxprocs) << " GOMAXPROCS=" << text(all.by_gomaxprocs)
             << " options: " << all.by_options;
}

void set_variable(char const* name, char const* value) {
  if (value == nullptr) {
    ::unsetenv(name);
  } else {
    ::setenv(name, value, 1);
  }
}

// In a child process.
template <class F>
int run_with(said const& all, F main) {
  set_variable("THRUM_MAXPROCS", all.by_thrum_maxprocs);
  set_variable("GOMAXPROCS", all.by_gomaxprocs);
  return thrum::run(main, {.max_procs = all.by_options});
}

class procs_by_hand : public child_test {
 protected:
  static void expect_procs(int procs, said const& all) {
    EXPECT_EXIT(std::exit(run_with(all, [] { return max_procs(); })), testing::ExitedWithCode(procs), "") << all;
  }

 private:
  with_own_procs fixed_;
};

TEST_F(procs_by_hand, S23_the_environment_says_it_if_the_options_do_not) {
  expect_procs(3, {.by_thrum_maxprocs = "3"});
  expect_procs(5, {.by_gomaxprocs = "5"});
  expect_procs(3, {.by_thrum_maxprocs = "3", .by_gomaxprocs = "5"});
  expect_procs(7, {.by_thrum_maxprocs = "3", .by_gomaxprocs = "5", .by_options = 7});
}

TEST_F(procs_by_hand, S23_what_is_no_number_of_ps_is_as_if_it_were_not_set) {
  for (char const* const nonsense : {"", "x", "3x", "0", "-2", "1000000", "99999999999999999999"}) {
    expect_procs(5, {.by_thrum_maxprocs = nonsense, .by_gomaxprocs = "5"});
    expect_procs(num_cpus(), {.by_thrum_maxprocs = nonsense, .by_gomaxprocs = nonsense});
  }
}

// Takes all CPUs except one away from the thread that checks the number of CPUs. Returns the number of Ps as soon as it
// is one, or after a time in which that thread has certainly checked. The result is negative if the test could not be
// made.
int procs_when_one_cpu_is_left() {
  constexpr auto longer_than_until_it_looks = 2500ms;
  int maker = 0;
  if (!wait_until([&] { return (maker = tid_of("thrum-maker")) != 0; })) return -1;
  cpu_set_t all{};
  if (::sched_getaffinity(0, sizeof all, &all) != 0) return -1;
  cpu_set_t one{};
  for (std::size_t cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  if (::sched_setaffinity(maker, sizeof one, &one) != 0) return -1;
  auto const until = clock::now() + longer_than_until_it_looks;
  static_cast<void>(wait_until([&] { return max_procs() == 1 || clock::now() > until; }));
  return max_procs();
}

TEST_F(procs_by_hand, S23_what_was_said_by_hand_is_not_adjusted_to_the_machine) {
  if (num_cpus() < 2) GTEST_SKIP() << "there is nothing to follow";
  auto const expect_procs_at_last = [](int procs, said const& all) {
    EXPECT_EXIT(std::exit(run_with(all, procs_when_one_cpu_is_left)), testing::ExitedWithCode(procs), "") << all;
  };
  expect_procs_at_last(3, {.by_options = 3});
  expect_procs_at_last(4, {.by_thrum_maxprocs = "4"});
  expect_procs_at_last(5, {.by_gomaxprocs = "5"});
}

TEST_F(procs_by_hand, S23_a_number_that_was_not_set_by_hand_is_not) {
  if (num_cpus() < 2) GTEST_SKIP() << "there is nothing to follow";
  auto const child = [] {
    std::exit(run_with({.by_thrum_maxprocs = "nonsense"}, [] {
      while (procs_when_one_cpu_is_left() != 1) {
      }
    }));
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

// Before the thread that adapts the number of Ps could act on a change of the machine, the program has set the number
// itself, or another run has begun.
TEST_F(procs_by_hand, S23_a_late_follower_changes_nothing) {
  EXPECT_EXIT(
      {
        run_with({}, [] {
          std::uint32_t const epoch = rt::current_m()->sched.epoch;
          int const before = max_procs();
          static_cast<void>(rt::change_procs(before + 2, epoch + 1));
          EXPECT_EQ(max_procs(), before);
          set_max_procs(3);
          static_cast<void>(rt::change_procs(4, epoch));
          EXPECT_EQ(max_procs(), 3);
        });
        std::exit(testing::Test::HasFailure() ? 1 : 7);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace thrum::test
