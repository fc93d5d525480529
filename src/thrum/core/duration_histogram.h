// A histogram of durations with Go's buckets (S23; TR-04; runtime/histogram.go). Written by one thread at a time, read
// by any thread. The bucket of a time follows from the width of its binary number and the two bits after the first one.
#pragma once

#include "core/counters.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct duration_histogram {
  // Go's values: four buckets for each power of two. The first four are 64 ns wide each, and the last power of two ends
  // at 39 hours. Longer times have one more bucket. Go's bucket for negative times is left out.
  static constexpr unsigned parts_bits = 2;
  static constexpr unsigned parts = 1U << parts_bits;
  static constexpr unsigned first_width = 9;  // below 2^8 ns one power of two is enough
  static constexpr unsigned powers = 40;
  static constexpr std::size_t buckets = std::size_t{powers} * parts + 1;

  [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t ns) noexcept {
    auto const width = static_cast<unsigned>(std::bit_width(ns));
    unsigned const power = width < first_width ? 0 : width - first_width + 1;
    if (power >= powers) return buckets - 1;
    unsigned const shift = (width < first_width ? first_width : width) - 1 - parts_bits;
    return std::size_t{power} * parts + (ns >> shift) % parts;
  }

  std::array<counter, buckets> by_time;
  counter total_ns;
  counter longest_ns;

  void add(std::int64_t took_ns) noexcept {
    auto const ns = static_cast<std::uint64_t>(took_ns < 0 ? 0 : took_ns);
    count(by_time[bucket_of(ns)]);
    count(total_ns, ns);
    if (ns > longest_ns.load(relaxed)) longest_ns.store(ns, relaxed);
  }
};

}  // namespace thrum::rt
