// with_symbols_in_time has one record that needs no memory. Reports at the same time, reports that are left, and a
// child of fork share it with the next report.
#include "base/platform.h"
#include "base/report_limits.h"
#include "core/sched.h"
#include "debug/symbols.h"
#include "os/fault.h"
#include "support/wait_until.h"

#include <atomic>
#include <cerrno>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using rt::report_end;
using rt::symbols;
using rt::with_symbols_in_time;
using rt::os::call;

constexpr std::int64_t minute_ns = 60'000'000'000;

class symbols_in_time : public testing::Test {
 protected:
  void TearDown() override { rt::os::clear_faults(); }
};

void refuse_memory() { rt::os::inject_fault(call::mmap, ENOMEM, 0, rt::os::fault_for_good); }

report_end report_nothing() {
  return with_symbols_in_time(
      minute_ns, [](symbols&, void*) noexcept {}, nullptr);
}

// Makes a report, and another one while the first is under way.
struct report_and_another {
  report_end first{};
  report_end another{};

  void make() {
    first = with_symbols_in_time(
        minute_ns,
        [](symbols&, void* its) noexcept { static_cast<report_and_another*>(its)->another = report_nothing(); }, this);
  }
};

TEST_F(symbols_in_time, two_reports_are_made_at_the_same_time) {
  report_and_another both;
  both.make();
  EXPECT_EQ(both.first, report_end::is_reached);
  EXPECT_EQ(both.another, report_end::is_reached);
}

TEST_F(symbols_in_time, without_memory_one_report_at_a_time_is_made) {
  refuse_memory();
  for (int i = 0; i < 3; ++i) {
    report_and_another both;
    both.make();
    EXPECT_EQ(both.first, report_end::is_reached);
    EXPECT_EQ(both.another, report_end::has_no_reader);
  }
}

TEST_F(symbols_in_time, without_a_thread_the_record_is_given_back) {
  refuse_memory();
  rt::os::inject_fault(call::thread_create, EAGAIN);
  EXPECT_EQ(report_nothing(), report_end::has_no_reader);
  EXPECT_EQ(report_nothing(), report_end::is_reached);
}

TEST_F(symbols_in_time, a_report_that_is_left_keeps_its_record_until_it_ends) {
  static std::atomic<bool> may_end;
  may_end = false;
  auto const waits = [](symbols&, void*) noexcept {
    while (!may_end) ::usleep(1000);
  };
  EXPECT_EQ(with_symbols_in_time(1, waits, nullptr), report_end::is_left);
  EXPECT_EQ(report_nothing(), report_end::is_reached) << "with memory of its own";
  refuse_memory();
  EXPECT_EQ(report_nothing(), report_end::has_no_reader);
  may_end = true;
  EXPECT_TRUE(wait_until([] { return report_nothing() == report_end::is_reached; }));
}

// In a panic, a thread that waits for the list of the other goroutines notes steps all the time (boot/report.cpp).
TEST_F(symbols_in_time, a_report_that_is_stuck_is_left_whatever_steps_other_reports_make) {
  static std::atomic<bool> may_end;
  may_end = false;
  auto const waits = [](symbols&, void*) noexcept {
    while (!may_end) ::usleep(1000);
  };
  int const asleep_before = rt::Sched::threads_asleep_for_good.load(rt::relaxed);
  std::atomic<bool> is_left{false};
  std::thread other([&] {
    while (!is_left) {
      rt::note_step_of_report();
      ::usleep(1000);
    }
  });
  EXPECT_EQ(with_symbols_in_time(1'000'000, waits, nullptr), report_end::is_left);
  is_left = true;
  may_end = true;
  other.join();
  EXPECT_TRUE(wait_until([&] { return rt::Sched::threads_asleep_for_good.load(rt::relaxed) == asleep_before; }));
}

TEST_F(symbols_in_time, a_child_of_fork_during_a_report_makes_its_own) {
  if (rt::with_tsan) GTEST_SKIP() << "TSan lets no child make threads";
  auto const forks = [](symbols&, void* status) noexcept {
    pid_t const child = ::fork();
    if (child == 0) ::_exit(report_nothing() == report_end::is_reached ? 0 : 1);
    ::waitpid(child, static_cast<int*>(status), 0);
  };
  int status = -1;
  EXPECT_EQ(with_symbols_in_time(minute_ns, forks, &status), report_end::is_reached);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace thrum::test
