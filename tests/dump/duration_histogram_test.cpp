// The histogram of durations has the buckets of Go's runtime/metrics.
#include "core/duration_histogram.h"

#include <thrum/runtime.h>

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

// Go's metrics.Read of /sched/latencies:seconds, in nanoseconds, without the two edges that are infinite.
std::vector<std::int64_t> edges_of_go() {
  std::vector<std::int64_t> edges;
  for (int part = 0; part < 4; ++part) edges.push_back(part * 64);
  for (unsigned width = 8; width < 47; ++width) {
    for (int part = 0; part < 4; ++part) {
      edges.push_back((std::int64_t{1} << width) + part * (std::int64_t{1} << width) / 4);
    }
  }
  edges.push_back(std::int64_t{1} << 47U);
  return edges;
}

TEST(duration_histogram, buckets_have_the_edges_of_Gos_runtime_metrics) {
  auto const edges = edges_of_go();
  ASSERT_EQ(edges.size() + 2, 163U) << "with those that are infinite";
  ASSERT_EQ(edges.size(), thrum::durations::buckets);
  ASSERT_EQ(thrum::durations::buckets, duration_histogram::buckets);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    auto const edge = static_cast<std::uint64_t>(edges[i]);
    ASSERT_EQ(thrum::durations::lower_edge(i).count(), edges[i]);
    ASSERT_EQ(duration_histogram::bucket_of(edge), i) << "a time at the lower edge belongs to the bucket";
    if (i == 0) continue;
    ASSERT_EQ(duration_histogram::bucket_of(edge - 1), i - 1) << "and one just below does not";
  }
  EXPECT_EQ(duration_histogram::bucket_of(~std::uint64_t{0}), duration_histogram::buckets - 1);
}

TEST(duration_histogram, a_negative_time_counts_as_none) {
  duration_histogram all;
  all.add(-5);
  all.add(1000);
  EXPECT_EQ(all.by_time[0].load(relaxed), 1U);
  EXPECT_EQ(all.by_time[duration_histogram::bucket_of(1000)].load(relaxed), 1U);
  EXPECT_EQ(all.total_ns.load(relaxed), 1000U);
  EXPECT_EQ(all.longest_ns.load(relaxed), 1000U);
}

}  // namespace
}  // namespace thrum::rt
