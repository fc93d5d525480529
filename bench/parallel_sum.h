// The parallel_sum workload for the C++ programs: everything except how a runtime starts and joins tasks.
#pragma once

#include "common.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bench {

inline constexpr std::size_t sum_length = std::size_t{64} << 20;  // doubles: 512 MiB, far more than any cache
inline constexpr std::size_t sum_parts = 4096;

// Not inlined, so that the single thread and the tasks run the same loop.
[[gnu::noinline]] inline double sum_of(std::span<double const> numbers) {
  double sum = 0;
  for (double const number : numbers) {
    sum += number;
  }
  return sum;
}

// for_each_task(n, f) runs f(0) .. f(n-1), each in its own task, and returns when all have ended.
template <class ForEachTask>
double sum_in_tasks(std::span<double const> numbers, ForEachTask for_each_task) {
  std::array<double, sum_parts> partial{};
  std::size_t const length = numbers.size() / sum_parts;
  for_each_task(sum_parts, [&](std::size_t part) { partial[part] = sum_of(numbers.subspan(part * length, length)); });
  return sum_of(partial);
}

// Compares with one thread of the same program, so that differences between the compilers' loops cancel out.
template <class ForEachTask>
double parallel_sum_speed_up(ForEachTask for_each_task) {
  std::vector<double> const numbers(sum_length, 1.0);
  std::span<double const> const all(numbers);
  sum_in_tasks(all.first(sum_length / 10 / sum_parts * sum_parts), for_each_task);
  return median_of_rounds([&] {
    double alone = 0;
    double together = 0;
    double const alone_ns = nanoseconds_of([&] { alone = sum_of(all); });
    double const together_ns = nanoseconds_of([&] { together = sum_in_tasks(all, for_each_task); });
    check("the sum of one thread", static_cast<std::int64_t>(alone), sum_length);
    check("the sum of the tasks", static_cast<std::int64_t>(together), sum_length);
    return alone_ns / together_ns;
  });
}

}  // namespace bench
