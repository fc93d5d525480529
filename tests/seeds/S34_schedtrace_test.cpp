// S34, TR-01: the scheduler's state, printed every so often.
#include "conformance/child_test.h"
#include "support/run_at.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstdlib>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class schedtrace : public child_test {};

void run_traced(char const* settings) {
  ::setenv("THRUM_DEBUG", settings, 1);
  run_at(2, [] {
    chan<int> const never;
    go([&] { static_cast<void>(never.recv()); });
    sleep_for(350ms);
  });
  ::_exit(0);
}

constexpr char summary[] =
    "SCHED [0-9]+ms: gomaxprocs=2 idleprocs=[0-2] threads=[0-9]+ spinningthreads=[0-9]+ needspinning=0 idlethreads=[0-9]+ "
    "runqueue=[0-9]+ ";

TEST_F(schedtrace, S34_TR_01_one_line_per_interval) {
  std::string const ps = "\\[ [0-9]+ [0-9]+ \\] schedticks=\\[ [0-9]+ [0-9]+ \\]\n";
  EXPECT_EXIT(run_traced("schedtrace=100"), testing::ExitedWithCode(0),
              "^" + std::string(summary) + ps + "SCHED [1-9][0-9]+ms: .*\n");
}

TEST_F(schedtrace, S34_TR_01_in_detail_one_line_per_p_thread_and_goroutine) {
  EXPECT_EXIT(run_traced("schedtrace=100,scheddetail=1"), testing::ExitedWithCode(0),
              "\n  P0: status=[a-z]+ schedtick=[0-9]+ .*\n  P1: .*\n  M[0-9]+: p=-?[0-9]+ curg=-?[0-9]+ .*\n  M0: .*\n"
              "(  G[0-9]+: status=.*\n)*  G[0-9]+: status=waiting\\((sleep|chan receive)\\) lockedm=-1 .*\n");
}

TEST_F(schedtrace, S34_nonsense_is_as_if_it_were_not_said) {
  for (char const* const settings : {"schedtrace=0", "schedtrace=-5", "schedtrace=x", "scheddetail=1", "schedtrace"}) {
    EXPECT_EXIT(run_traced(settings), testing::ExitedWithCode(0), "^$") << settings;
  }
}

}  // namespace
}  // namespace thrum::test
