// Where due sleepers go, on a scheduler that does not run.
#include "sched/queues.h"
#include "sched/timers.h"
#include "support/bare_sched.h"
#include "support/fake_gs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using test::bare_sched;
using test::fake_gs;
using test::numbers;

constexpr std::int64_t now_ns = 1'000'000;

void put_to_sleep(P& p, fake_gs& gs, std::size_t count) {
  ASSERT_TRUE(p.timers.reserve(static_cast<std::uint32_t>(count)));
  for (std::size_t i = 0; i < count; ++i) {
    gs[i].status.store(g_status::waiting, relaxed);
    static_cast<void>(p.timers.add(gs[i], static_cast<std::int64_t>(i)));
  }
}

class due_sleepers : public testing::TestWithParam<std::uint32_t> {};

// A P looks at its timers after every 61 runs, at every turn of the global queue, and when sysmon asks for it. At the
// turn of the global queue no goroutine leaves the run queue, so the next look may come before there is more room.
TEST_P(due_sleepers, S27_more_than_fit_wait_in_the_heap_and_do_not_overflow_the_run_queue) {
  std::uint32_t const capacity = GetParam();
  std::size_t const sleepers = std::size_t{20} * capacity;
  bare_sched s(1, capacity);
  fake_gs gs(sleepers);
  put_to_sleep(s.p(0), gs, sleepers);
  std::uint32_t const runs_between = std::max(capacity / 4, 2U);
  std::size_t ran = 0;
  for (int look = 0; look < 1000 && ran < sleepers; ++look) {
    run_due_timers(s.m(0), s.p(0), now_ns);
    if (look % 2 == 0) continue;
    for (std::uint32_t runs = 0; runs < runs_between; ++runs) ran += s.p(0).queue.pop() ? 1 : 0;
  }
  EXPECT_EQ(ran, sleepers);
  EXPECT_EQ(s.p(0).counters.overflows.load(relaxed), 0U);
  EXPECT_EQ(s->global_size.load(relaxed), 0U);
}

TEST_P(due_sleepers, S27_a_full_run_queue_does_not_keep_them_in_the_heap) {
  std::uint32_t const capacity = GetParam();
  bare_sched s(1, capacity);
  fake_gs others(capacity);
  fake_gs gs(1);
  gs[0].id = 999;
  for (std::size_t i = 0; i < capacity; ++i) put_tail(test::push, s.p(0), others.plain(i));
  put_to_sleep(s.p(0), gs, 1);
  run_due_timers(s.m(0), s.p(0), now_ns);
  EXPECT_FALSE(s.p(0).timers.any());
  EXPECT_EQ(s.drain_global().back(), 999);
}

INSTANTIATE_TEST_SUITE_P(capacity, due_sleepers, testing::Values(4U, 256U), testing::PrintToStringParamName());

}  // namespace
}  // namespace thrum::rt
