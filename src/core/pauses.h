// How long something took, each time: a histogram by powers of two (S23; TR-04). Written by one at a time, read by anybody.
#pragma once

#include "core/counters.h"

#include <array>
#include <bit>
#include <cstdint>

namespace thrum::rt {

struct durations {
  static constexpr std::size_t buckets = 40;  // the last begins at nine minutes

  std::array<counter, buckets> by_log2_ns;  // [i]: at least 2^(i-1) ns and less than 2^i
  counter total_ns;
  counter longest_ns;

  void add(std::int64_t took_ns) noexcept {
    auto const ns = static_cast<std::uint64_t>(took_ns < 0 ? 0 : took_ns);
    auto const width = static_cast<std::size_t>(std::bit_width(ns));
    count(by_log2_ns[width < buckets ? width : buckets - 1]);
    count(total_ns, ns);
    if (ns > longest_ns.load(relaxed)) longest_ns.store(ns, relaxed);
  }
};

}  // namespace thrum::rt
