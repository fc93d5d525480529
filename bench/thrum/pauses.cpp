// How long the world is stopped.
#include "../common.h"
#include "workloads.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace {

using bench::figure;
using bench::quantile;
using bench::workload;
using std::chrono::steady_clock;

// Loops that call nothing, and tasks that allocate: together twice as many as there are Ps.
struct load {
  std::atomic<bool> stop{false};
  thrum::wait_group ended;

  explicit load(int procs) {
    for (int i = 0; i < procs; ++i) {
      ended.go([this] {
        while (!stop.load(std::memory_order_relaxed)) {
        }
      });
      ended.go([this] {
        std::array<std::unique_ptr<std::byte[]>, 64> kept;
        for (std::size_t n = 0; !stop.load(std::memory_order_relaxed); ++n) {
          kept[n % kept.size()] = std::make_unique<std::byte[]>(64 + n % 4096);
        }
      });
    }
  }
  ~load() {
    stop = true;
    ended.wait();
  }
  load(load const&) = delete;
  load& operator=(load const&) = delete;
};

// Computes for some 100 us without a call. So when its slice ends, the task is paused here and not in the measured
// call.
void compute_for_a_moment() {
  for (int i = 0; i < 200'000; ++i) asm volatile("");
}

double stop_once(int procs) {
  auto const start = steady_clock::now();
  thrum::set_max_procs(procs);
  double const us = std::chrono::duration<double, std::micro>(steady_clock::now() - start).count();
  compute_for_a_moment();
  return us;
}

// The time in us within which this part of the pauses between `before` and `after` was over. The histogram has four
// buckets for each power of two. They are merged into one, as the Go program does with its own. Inside a power of two
// the value is interpolated linearly.
double quantile_of_pauses(thrum::durations const& before, thrum::durations const& after, double part) {
  std::array<double, 64> folded{};  // [i]: at least 2^(i-1) ns and less than 2^i
  for (std::size_t i = 0; i < after.by_time.size(); ++i) {
    auto const from_ns = static_cast<std::uint64_t>(thrum::durations::lower_edge(i).count());
    folded[static_cast<std::size_t>(std::bit_width(from_ns))] +=
        static_cast<double>(after.by_time[i] - before.by_time[i]);
  }
  double const wanted = part * static_cast<double>(after.count - before.count);
  double below = 0;
  for (std::size_t i = 0; i < folded.size(); ++i) {
    double const here = folded[i];
    if (here > 0 && below + here >= wanted) {
      double const from_ns = i == 0 ? 0 : std::ldexp(1.0, static_cast<int>(i) - 1);
      double const to_ns = std::ldexp(1.0, static_cast<int>(i));
      return (from_ns + (to_ns - from_ns) * (wanted - below) / here) / 1e3;
    }
    below += here;
  }
  bench::fail(1, "no pause was counted");
}

std::vector<figure> resize_under_load() {
  constexpr int resizes = 1'000;
  int const procs = thrum::max_procs();
  load const beside(procs);
  std::vector<double> us;
  us.reserve(resizes);
  for (int i = 0; i < resizes / 10; ++i) stop_once(procs + (i + 1) % 2);
  auto const before = thrum::read_stats();
  for (int i = 0; i < resizes; ++i) us.push_back(stop_once(procs + (i + 1) % 2));
  auto const after = thrum::read_stats();
  bench::check("the number of pauses", static_cast<std::int64_t>(after.stopped_for.count - before.stopped_for.count),
               resizes);
  auto const stopping = [&](double part) {
    return quantile_of_pauses(before.stopping_took, after.stopping_took, part);
  };
  auto const stopped = [&](double part) { return quantile_of_pauses(before.stopped_for, after.stopped_for, part); };
  return {{"", quantile(us, 0.5), "us"},           {"_p99", quantile(us, 0.99), "us"},
          {"_max", quantile(us, 1), "us"},         {"_stopping", stopping(0.5), "us"},
          {"_stopping_p99", stopping(0.99), "us"}, {"_stopped", stopped(0.5), "us"},
          {"_stopped_p99", stopped(0.99), "us"}};
}

constexpr std::array workloads{workload{"pauses", resize_under_load}};

}  // namespace

std::span<workload const> pause_workloads() { return workloads; }
