// Tasks in system calls, and a program that is nearly idle.
#include "../common.h"
#include "workloads.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using bench::figure;
using bench::one;
using bench::quantile;
using bench::workload;
using std::chrono::steady_clock;

void sleep_in_kernel() {
  timespec const length{.tv_sec = 0, .tv_nsec = 10'000'000};
  ::nanosleep(&length, nullptr);
}

struct meanwhile {
  double wall_ms;
  double yields;
};

// 64 tasks sleep in the kernel, ten times 10 ms each. Another task counts its yields meanwhile.
template <class Sleep>
meanwhile block_in_turns(Sleep sleep) {
  constexpr int tasks = 64;
  constexpr int calls_each = 10;
  thrum::wait_group callers;
  std::atomic<bool> over{false};
  std::int64_t yields = 0;
  auto counter = thrum::spawn([&] {
    for (; !over.load(std::memory_order_relaxed); ++yields) {
      thrum::yield();
    }
  });
  double const wall_ns = bench::nanoseconds_of([&] {
    for (int i = 0; i < tasks; ++i) {
      callers.go([sleep] {
        for (int c = 0; c < calls_each; ++c) {
          sleep();
        }
      });
    }
    callers.wait();
  });
  over = true;
  counter.join();
  return {wall_ns / 1e6, static_cast<double>(yields)};
}

template <class Sleep>
std::vector<figure> tasks_in_kernel(Sleep sleep) {
  static_cast<void>(block_in_turns(sleep));
  std::array<double, bench::round_count> wall_ms{};
  std::array<double, bench::round_count> yields{};
  for (std::size_t round = 0; round < bench::round_count; ++round) {
    auto const seen = block_in_turns(sleep);
    wall_ms[round] = seen.wall_ms;
    yields[round] = seen.yields;
  }
  return {{"", quantile(wall_ms, 0.5), "ms"}, {"_yields", quantile(yields, 0.5), "yields"}};
}

std::vector<figure> blocking() {
  return tasks_in_kernel([] { thrum::blocking(sleep_in_kernel); });
}

// The same calls, not announced to thrum.
std::vector<figure> unannounced() { return tasks_in_kernel(sleep_in_kernel); }

// How late a task wakes up that repeatedly sleeps 1 ms, while another task computes for 2 s without a call.
std::vector<figure> hog() {
  std::atomic<bool> over{false};
  auto spinner = thrum::spawn([&] {
    while (!over.load(std::memory_order_relaxed)) {
    }
  });
  std::vector<double> late_ms;
  auto const start = steady_clock::now();
  while (steady_clock::now() - start < 2s) {
    auto const until = steady_clock::now() + 1ms;
    thrum::sleep_for(1ms);
    late_ms.push_back(std::chrono::duration<double, std::milli>(steady_clock::now() - until).count());
  }
  over = true;
  spinner.join();
  return {{"", quantile(late_ms, 0.5), "ms"}, {"_worst", quantile(late_ms, 1), "ms"}};
}

// Knuth's linear congruential generator (MMIX). Each step needs the result of the previous one, so no compiler shortens
// the loop.
struct lcg_step {
  std::uint64_t factor = 6'364'136'223'846'793'005;
  std::uint64_t addend = 1'442'695'040'888'963'407;

  [[nodiscard]] std::uint64_t of(std::uint64_t x) const { return factor * x + addend; }
  [[nodiscard]] lcg_step twice() const { return {factor * factor, of(addend)}; }
};

// The result after this many steps, computed by doubling.
std::uint64_t lcg_after(std::uint64_t x, std::int64_t steps) {
  for (lcg_step stride; steps != 0; steps >>= 1, stride = stride.twice()) {
    if ((steps & 1) != 0) x = stride.of(x);
  }
  return x;
}

// Two tasks per P, which compute and call nothing: measures the cost of their taking turns.
double compute_in_turns() {
  constexpr std::int64_t rounds = 100'000'000;
  std::vector<std::uint64_t> results(2 * static_cast<std::size_t>(thrum::max_procs()));
  double const wall_ns = bench::nanoseconds_of([&] {
    thrum::wait_group all;
    for (std::size_t i = 0; i < results.size(); ++i) {
      all.go([&result = results[i], i] {
        std::uint64_t x = i;
        for (std::int64_t r = 0; r < rounds; ++r) x = lcg_step().of(x);
        result = x;
      });
    }
    all.wait();
  });
  for (std::size_t i = 0; i < results.size(); ++i) {
    bench::check("the last number of the generator", static_cast<std::int64_t>(results[i]),
                 static_cast<std::int64_t>(lcg_after(i, rounds)));
  }
  return wall_ns / 1e6;
}

std::int64_t call_kernel(int times) {
  for (int i = 0; i < times; ++i) {
    ::syscall(SYS_getppid);
  }
  return times;
}

std::int64_t call_kernel_announced(int times) {
  for (int i = 0; i < times; ++i) {
    thrum::blocking([] { ::syscall(SYS_getppid); });
  }
  return times;
}

// The cost of announcing a short call: the difference to the same call without announcement.
double announced_call() {
  constexpr int warm_up = 10'000;
  constexpr int calls = 1'000'000;
  return bench::ns_per_unit(call_kernel_announced, warm_up, calls) - bench::ns_per_unit(call_kernel, warm_up, calls);
}

double nearly_idle() {
  auto const start = steady_clock::now();
  double const cpu_ns = bench::cpu_nanoseconds_of([&] {
    while (steady_clock::now() - start < 5s) {
      thrum::sleep_for(1ms);
    }
  });
  return 100 * cpu_ns / std::chrono::duration<double, std::nano>(steady_clock::now() - start).count();
}

constexpr std::array workloads{
    workload{"blocking", blocking},
    workload{"unannounced", unannounced},
    workload{"hog", hog},
    workload{"cpu_bound", [] { return one("ms", compute_in_turns()); }},
    workload{"syscall", [] { return one("ns/call", announced_call()); }},
    workload{"idle", [] { return one("% CPU", nearly_idle()); }},
};

}  // namespace

std::span<workload const> kernel_workloads() { return workloads; }
