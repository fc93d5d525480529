// S34, TR-01: the scheduler's state, printed every so often.
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include "support/with_debug.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class schedtrace : public child_test {};

// Before each of its looks sysmon writes what is due.
void wait_for_looks(std::uint64_t more) {
  auto const looks = [] { return read_stats().sysmon_looks; };
  std::uint64_t const before = looks();
  EXPECT_TRUE(wait_until([&] { return looks() >= before + more; }));
}

void run_traced(char const* settings) {
  ::setenv("THRUM_DEBUG", settings, 1);
  run_at(2, [] {
    chan<int> const never;
    go([&] { static_cast<void>(never.recv()); });
    EXPECT_TRUE(wait_until([] { return waiting_for(rt::wait_reason::chan_receive) == 1; }));
    wait_for_looks(1);
    sleep_for(350ms);
    wait_for_looks(2);
  });
  ::_exit(0);
}

constexpr char summary[] =
    "SCHED [0-9]+ms: gomaxprocs=2 idleprocs=[0-2] threads=[0-9]+ spinningthreads=[0-9]+ needspinning=0 idlethreads=[0-9]+ "
    "runqueue=[0-9]+ ";

TEST_F(schedtrace, S34_TR_01_one_line_per_interval) {
  std::string const ps = "\\[ [0-9]+ [0-9]+ \\] schedticks=\\[ [0-9]+ [0-9]+ \\]\n";
  EXPECT_EXIT(run_traced("schedtrace=20"), testing::ExitedWithCode(0),
              "^" + std::string(summary) + ps + "SCHED [1-9][0-9]+ms: .*\n");
}

// Of the run's own time, in milliseconds, when each line was written, and when the run was over.
struct trace_times {
  std::vector<std::int64_t> lines;
  std::int64_t end = 0;
};

trace_times trace_every(std::chrono::milliseconds period) {
  with_debug const meanwhile("schedtrace=" + std::to_string(period.count()));
  testing::internal::CaptureStderr();
  auto const since = clock::now();
  run_at(2, [] { sleep_for(350ms); });
  trace_times times;
  times.end = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - since).count();
  std::string const text = testing::internal::GetCapturedStderr();
  std::string const head = "SCHED ";
  for (auto at = text.find(head); at != std::string::npos; at = text.find(head, at + 1)) {
    times.lines.push_back(std::strtoll(text.c_str() + at + head.size(), nullptr, 10));
  }
  return times;
}

// Never before its time; and as soon as sysmon has a CPU after that, so that the best of some tries counts.
TEST(schedtrace_lines, S34_TR_01_come_once_per_interval) {
  constexpr auto period = 50ms;
  trace_times times;
  int tries = 0;
  do {
    times = trace_every(period);
    for (std::size_t i = 1; i < times.lines.size(); ++i) {
      EXPECT_GE(times.lines[i] - times.lines[i - 1], period.count() - 1) << "of line " << i;  // both were rounded
    }
  } while (static_cast<std::int64_t>(times.lines.size()) < times.end / (period.count() + 15) && ++tries < 10);
  EXPECT_LT(tries, 10) << times.lines.size() << " lines in " << times.end << " ms";
}

// Go's fields (schedtrace in its proc.go), in Go's order. Fields that only thrum has follow on the same line.
TEST_F(schedtrace, S34_TR_01_in_detail_one_line_per_p_thread_and_goroutine_as_go_writes_them) {
  with_own_procs const fixed;
  std::string const number = "[0-9]+";
  std::string const or_nil = "([0-9]+|nil)";
  std::string const flag = "(true|false)";
  std::string const stops =
      std::getenv("THRUM_CHAOS") == nullptr ? "false" : flag;  // a thread that stops the world notifies sysmon
  std::string const rest_of_summary =
      "gcwaiting=" + stops + " nmidlelocked=0 stopwait=0 sysmonwait=false stopping=false\n";
  std::string const p = ": status=[0-4] schedtick=" + number + " syscalltick=" + number + " m=" + or_nil +
                        " runqsize=" + number + " gfreecnt=" + number + " timerslen=" + number + " runnext=[^\n]*\n";
  std::string const m = ": p=" + or_nil + " curg=" + or_nil + " mallocing=0 throwing=0 preemptoff= locks=[01] dying=0" +
                        " spinning=" + flag + " blocked=" + flag + " lockedg=nil nextp=[^\n]*\n";
  std::string const some_g =
      "(  G" + number + ": status=[1-4]\\([^\n]*\\) m=" + or_nil + " lockedm=nil stack=[^\n]*\n)*";
  std::string const receiver = "  G" + number + ": status=4\\(chan receive\\) m=nil lockedm=nil stack=[^\n]*\n";
  EXPECT_EXIT(
      run_traced("schedtrace=20,scheddetail=1"), testing::ExitedWithCode(0),
      summary + rest_of_summary + "  P0" + p + "  P1" + p + "(  M[1-9][0-9]*" + m + ")*  M0" + m + some_g + receiver);
}

TEST_F(schedtrace, S34_nonsense_is_as_if_it_were_not_said) {
  for (char const* const settings : {"schedtrace=0", "schedtrace=-5", "schedtrace=x", "scheddetail=1", "schedtrace"}) {
    EXPECT_EXIT(run_traced(settings), testing::ExitedWithCode(0), "^$") << settings;
  }
}

}  // namespace
}  // namespace thrum::test
