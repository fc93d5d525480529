#include "os/cpu.h"

#include "os/fault.h"

#include <limits>
#include <thread>

#include <errno.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

TEST(cpu, there_is_at_least_one_and_no_more_than_the_mask_allows) {
  EXPECT_GE(available_cpus(), 1);
  EXPECT_LE(available_cpus(), cpus_by_affinity());
}

TEST(cpu, the_mask_of_the_calling_thread_is_obeyed) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  EXPECT_EQ(cpus_by_affinity(), CPU_COUNT(&allowed));
  int by_affinity = 0;
  int available = 0;
  std::thread([&] {
    int first = 0;
    while (!CPU_ISSET(first, &allowed)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) return;
    by_affinity = cpus_by_affinity();
    available = available_cpus();
  }).join();
  EXPECT_EQ(by_affinity, 1);
  EXPECT_EQ(available, 1);
}

TEST(cpu, without_the_mask_the_cpus_online_are_taken) {
  inject_fault(call::sched_getaffinity, EPERM);
  EXPECT_EQ(cpus_by_affinity(), sysconf(_SC_NPROCESSORS_ONLN));
  clear_faults();
}

TEST(cpu, without_proc_the_mask_alone_counts) {
  inject_fault(call::open, ENOENT, 0, fault_for_good);
  EXPECT_EQ(available_cpus(), cpus_by_affinity());
  clear_faults();
}

TEST(cpu, a_quota_is_rounded_up_to_2_at_least_and_never_above_the_mask) {
  struct {
    int cpus;
    double quota;
    int expected;
  } const cases[] = {{8, 0.1, 2}, {8, 1.0, 2}, {8, 1.5, 2}, {8, 2.0, 2}, {8, 2.1, 3},
                     {8, 7.5, 8}, {8, 8.0, 8}, {8, 100, 8}, {1, 0.5, 1}, {2, 0.5, 2}};
  for (auto const& each : cases) {
    EXPECT_EQ(cpus_under_quota(each.cpus, each.quota), each.expected) << each.cpus << " at " << each.quota;
  }
  EXPECT_EQ(cpus_under_quota(8, std::nullopt), 8);
  EXPECT_EQ(cpus_under_quota(8, 1e300), 8);
  EXPECT_EQ(cpus_under_quota(8, std::numeric_limits<double>::quiet_NaN()), 8);
}

}  // namespace
}  // namespace thrum::rt::os
