// What goroutines cost in memory (S29, SC-26).
#include "base/platform.h"
#include "os/memory.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

// A figure of /proc/meminfo in bytes, 0 when there is none.
std::size_t meminfo(char const* name) {
  std::FILE* const file = std::fopen("/proc/meminfo", "r");
  if (file == nullptr) return 0;
  char line[128];
  unsigned long kib = 0;
  std::string const wanted = std::string(name) + ":";
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, wanted.c_str(), wanted.size()) == 0) std::sscanf(line + wanted.size(), "%lu", &kib);
  }
  std::fclose(file);
  return std::size_t{kib} * 1024;
}

constexpr std::size_t a_million = 1'000'000;

#define THRUM_NEEDS_REAL_MEMORY(bytes)                                                                            \
  if (rt::with_asan || rt::with_tsan) GTEST_SKIP() << "a sanitizer's shadow memory would be measured";            \
  if (meminfo("MemAvailable") < (bytes)) GTEST_SKIP() << "needs " << (bytes) / 1'000'000 << " MB of free memory"; \
  if (rt::os::page_size() != 4096)                                                                                \
  GTEST_SKIP() << "the figures are for pages of 4 KiB, these have " << rt::os::page_size()

bool this_kernel_has_guard_markers() {
  auto const page = rt::os::map(rt::os::page_size());
  if (page.address == nullptr) return false;
  bool const guarded = rt::os::guard_install(page.address, rt::os::page_size()) == 0 && !rt::os::readable(page.address);
  rt::os::unmap(page.address, rt::os::page_size());
  return guarded;
}

class memory : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static int procs() { return GetParam(); }
};

THRUM_AT_WIDTHS(memory, 1, 2);

TEST_P(memory, S29_a_million_parked_goroutines_cost_a_page_and_their_record_each) {
  constexpr std::size_t bytes_each_max = 4'710;  // 4.6 KB: stack page, G and sudog
  THRUM_NEEDS_REAL_MEMORY(6'000'000'000);
  std::size_t before = 0;
  std::size_t parked_bytes = 0;
  std::size_t ran = 0;
  stats seen;
  run_at(procs(), [&] {
    wait_group gate;
    gate.add(1);
    wait_group ended;
    wait_group arrived;
    arrived.add(a_million);
    rt::atomic<std::size_t> released{0};
    before = rt::os::resident_bytes();
    for (std::size_t i = 0; i < a_million; ++i) {
      ended.go([&] {
        arrived.done();
        gate.wait();
        released.fetch_add(1, rt::relaxed);
      });
    }
    arrived.wait();
    for (int i = 0; i < 100; ++i) yield();  // the last of them park
    parked_bytes = rt::os::resident_bytes() - before;
    seen = read_stats();
    gate.done();
    ended.wait();
    ran = released.load(rt::relaxed);
  });
  RecordProperty("bytes_each", std::to_string(parked_bytes / a_million));
  EXPECT_EQ(ran, a_million);
  EXPECT_LE(parked_bytes / a_million, bytes_each_max);
  EXPECT_GE(seen.stacks_in_use, a_million);
  if (this_kernel_has_guard_markers()) {
    EXPECT_EQ(seen.stacks_unguarded, 0U);
    EXPECT_GE(seen.stacks_guarded, a_million);
  }
}

TEST_P(memory, S29_a_million_goroutines_that_have_not_run_cost_a_record_each) {
  constexpr std::size_t bytes_each_max = 300;
  THRUM_NEEDS_REAL_MEMORY(1'000'000'000);
  std::size_t bytes = 0;
  std::size_t unstarted = 0;
  with_slices_of const endless(std::chrono::seconds(10));
  run_at(procs(), [&] {
    // Goroutines that spin keep the other Ps busy, so no other M can start any of the million.
    rt::atomic<bool> over{false};
    rt::atomic<int> busy{0};
    wait_group spinners;
    for (int i = 1; i < procs(); ++i) {
      spinners.go([&] {
        busy.fetch_add(1, rt::relaxed);
        while (!over.load(rt::relaxed)) rt::os::yield_thread();
      });
    }
    ASSERT_TRUE(spin_until([&] { return busy.load(rt::relaxed) == procs() - 1; }));
    rt::atomic<std::size_t> started{0};
    wait_group ended;
    ended.add(a_million);
    std::size_t const before = rt::os::resident_bytes();
    for (std::size_t i = 0; i < a_million; ++i) {
      go([&] {
        started.fetch_add(1, rt::relaxed);
        ended.done();
      });
    }
    bytes = rt::os::resident_bytes() - before;
    unstarted = a_million - started.load(rt::relaxed);
    over.store(true, rt::relaxed);
    spinners.wait();
    ended.wait();
  });
  RecordProperty("bytes_each", std::to_string(bytes / a_million));
  EXPECT_EQ(unstarted, a_million);
  EXPECT_LE(bytes / a_million, bytes_each_max);
}

// Dead goroutines' records and stacks are used again.
TEST_P(memory, SC26_a_million_spawned_and_joined_in_batches_keep_the_memory_flat) {
  std::int64_t const batches = scaled(10'000, 200);
  constexpr std::size_t batch = 100;
  std::size_t early = 0;
  std::size_t late = 0;
  run_at(procs(), [&] {
    std::vector<join_handle<std::size_t>> children(batch);
    for (std::int64_t b = 0; b < batches; ++b) {
      for (std::size_t i = 0; i < batch; ++i) children[i] = spawn([i] { return i; });
      if (b % 2 == 0) yield();  // every other batch begins by itself, on stacks of its own
      for (std::size_t i = 0; i < batch; ++i) ASSERT_EQ(children[i].join(), i);
      if (b == batches / 10) early = rt::os::resident_bytes();
    }
    late = rt::os::resident_bytes();
  });
  RecordProperty("growth", std::to_string(static_cast<std::int64_t>(late) - static_cast<std::int64_t>(early)));
  std::size_t const slack = rt::with_asan || rt::with_tsan ? 64U << 20U : 2U << 20U;  // their own books grow
  EXPECT_LE(late, early + slack);
}

}  // namespace
}  // namespace thrum::test
