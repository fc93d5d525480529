// The bench program on oneTBB: fork-join only. Its tasks cannot park, so there is no yield, mutex or memory row.
#include "../common.h"
#include "../parallel_sum.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/version.h>

namespace {

using bench::ns_per_unit;
using bench::one;
using bench::workload;

std::int64_t spawn_in_batches(int tasks) {
  constexpr int batch_size = 10'000;
  for (int started = 0; started < tasks; started += batch_size) {
    tbb::task_group batch;
    for (int i = 0; i < batch_size; ++i) {
      batch.run([] {});
    }
    batch.wait();
  }
  return tasks;
}

void grow_tree(int depth) {
  if (depth == 0) {
    return;
  }
  tbb::task_group children;
  children.run([depth] { grow_tree(depth - 1); });
  children.run([depth] { grow_tree(depth - 1); });
  children.wait();
}

std::int64_t spawn_tree(int depth) {
  grow_tree(depth);
  return bench::tree_tasks(depth);
}

std::int64_t fib(int n) {
  if (n < 2) {
    return n;
  }
  std::int64_t smaller = 0;
  tbb::task_group joined;
  joined.run([&smaller, n] { smaller = fib(n - 1); });
  std::int64_t const smallest = fib(n - 2);
  joined.wait();
  return smaller + smallest;
}

std::int64_t fork_join_fib(int n) {
  bench::check("fib", fib(n), bench::fibonacci(n));
  return bench::fib_tasks(n);
}

double parallel_sum() {
  return bench::parallel_sum_speed_up([](std::size_t tasks, auto const& body) {
    tbb::task_group parts;
    for (std::size_t part = 0; part < tasks; ++part) {
      parts.run([&body, part] { body(part); });
    }
    parts.wait();
  });
}

// Sizes: the warm-up is about a tenth of the work. Depth 15 is an eighth of depth 18, fib(22) an eleventh of fib(27).
constexpr std::array workloads{
    workload{"spawn", [] { return one("ns/task", ns_per_unit(spawn_in_batches, 100'000, 1'000'000)); }},
    workload{"spawn_deep", [] { return one("ns/task", ns_per_unit(spawn_tree, 15, 18)); }},
    workload{"fib", [] { return one("ns/task", ns_per_unit(fork_join_fib, 22, 27)); }},
    workload{"parallel_sum", [] { return one("speed-up", parallel_sum()); }},
};

}  // namespace

int main(int argc, char** argv) {
  std::string const version = "oneTBB " + std::to_string(TBB_VERSION_MAJOR) + "." + std::to_string(TBB_VERSION_MINOR);
  return bench::command(argc, argv, version, workloads, [](int procs, auto const& body) {
    // The control limits the threads of the process. The arena raises the default of one slot per CPU if procs is
    // larger.
    tbb::global_control const limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(procs));
    tbb::task_arena arena(procs);
    arena.execute(body);
  });
}
