// Starting tasks, joining them, taking turns: the workloads without channels and clocks.
#include "../common.h"
#include "../parallel_sum.h"
#include "workloads.h"
#include <thrum/thrum.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

namespace {

using bench::ns_per_unit;
using bench::one;
using bench::workload;

std::int64_t spawn_in_batches(int tasks) {
  constexpr int batch_size = 10'000;
  for (int started = 0; started < tasks; started += batch_size) {
    thrum::wait_group batch;
    batch.add(batch_size);
    for (int i = 0; i < batch_size; ++i) {
      thrum::go([&batch] { batch.done(); });
    }
    batch.wait();
  }
  return tasks;
}

void grow_tree(int depth) {
  if (depth == 0) {
    return;
  }
  auto older = thrum::spawn([depth] { grow_tree(depth - 1); });
  auto younger = thrum::spawn([depth] { grow_tree(depth - 1); });
  // The younger task is joined first. Thieves take the oldest, so the younger one is more likely to be in the queue and
  // to be joined in place.
  younger.join();
  older.join();
}

std::int64_t spawn_tree(int depth) {
  grow_tree(depth);
  return bench::tree_tasks(depth);
}

std::int64_t fib(int n) {
  if (n < 2) {
    return n;
  }
  auto smaller = thrum::spawn([n] { return fib(n - 1); });
  std::int64_t const smallest = fib(n - 2);
  return smaller.join() + smallest;
}

std::int64_t fork_join_fib(int n) {
  bench::check("fib", fib(n), bench::fibonacci(n));
  return bench::fib_tasks(n);
}

std::int64_t yield_from(int tasks, int yields_each) {
  thrum::wait_group ended;
  ended.add(tasks);
  for (int i = 0; i < tasks; ++i) {
    thrum::go([&ended, yields_each] {
      for (int y = 0; y < yields_each; ++y) {
        thrum::yield();
      }
      ended.done();
    });
  }
  ended.wait();
  return std::int64_t{tasks} * yields_each;
}

std::int64_t yield_in_pair(int yields_each) { return yield_from(2, yields_each); }
std::int64_t yield_in_crowd(int yields_each) { return yield_from(10'000, yields_each); }

std::int64_t lock_in_turns(int locks_each) {
  constexpr int tasks = 100;
  thrum::mutex lock;
  std::int64_t counter = 0;
  thrum::wait_group ended;
  ended.add(tasks);
  for (int i = 0; i < tasks; ++i) {
    thrum::go([&, locks_each] {
      for (int n = 0; n < locks_each; ++n) {
        std::lock_guard const guard(lock);
        ++counter;
      }
      ended.done();
    });
  }
  ended.wait();
  bench::check("the counter under the mutex", counter, std::int64_t{tasks} * locks_each);
  return counter;
}

// Measured once, in a fresh process, because a second round would reuse the memory of the first.
double bytes_per_parked_task() {
  constexpr int tasks = 1'000'000;
  std::int64_t const before = bench::resident_bytes();
  thrum::chan<int> const gate;
  thrum::wait_group arrived;
  thrum::wait_group ended;
  arrived.add(tasks);
  ended.add(tasks);
  for (int i = 0; i < tasks; ++i) {
    thrum::go([&] {
      arrived.done();
      if (gate.recv()) {
        bench::fail(1, "a message from no sender");
      }
      ended.done();
    });
  }
  arrived.wait();
  std::int64_t const grown = bench::resident_bytes() - before;
  gate.close();
  ended.wait();
  return static_cast<double>(grown) / tasks;
}

double parallel_sum() {
  return bench::parallel_sum_speed_up([](std::size_t tasks, auto const& body) {
    thrum::wait_group parts;
    for (std::size_t part = 0; part < tasks; ++part) {
      parts.go([&body, part] { body(part); });
    }
    parts.wait();
  });
}

// Sizes: the warm-up is about a tenth of the work. Depth 15 is an eighth of depth 18, fib(22) an eleventh of fib(27).
constexpr std::array workloads{
    workload{"spawn", [] { return one("ns/task", ns_per_unit(spawn_in_batches, 100'000, 1'000'000)); }},
    workload{"spawn_deep", [] { return one("ns/task", ns_per_unit(spawn_tree, 15, 18)); }},
    workload{"fib", [] { return one("ns/task", ns_per_unit(fork_join_fib, 22, 27)); }},
    workload{"yield", [] { return one("ns/yield", ns_per_unit(yield_in_pair, 100'000, 1'000'000)); }},
    workload{"yield_many", [] { return one("ns/yield", ns_per_unit(yield_in_crowd, 10, 100)); }},
    workload{"mutex", [] { return one("ns/op", ns_per_unit(lock_in_turns, 1'000, 10'000)); }},
    workload{"memory", [] { return one("bytes/task", bytes_per_parked_task()); }},
    workload{"parallel_sum", [] { return one("speed-up", parallel_sum()); }},
};

}  // namespace

std::span<workload const> task_workloads() { return workloads; }
