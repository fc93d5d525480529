// How long the world stands still.
#include "../common.h"
#include "workloads.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace {

using bench::figure;
using bench::quantile;
using bench::workload;
using std::chrono::steady_clock;

// Loops that call nothing, and tasks that allocate, twice as many as there are Ps.
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

// Some 100 us, without a call: when its slice ends it is paused here, and not in the call that is measured.
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

std::vector<figure> resize_under_load() {
  constexpr int resizes = 1'000;
  int const procs = thrum::max_procs();
  load const beside(procs);
  std::vector<double> us;
  us.reserve(resizes);
  for (int i = 0; i < resizes / 10; ++i) stop_once(procs + (i + 1) % 2);
  for (int i = 0; i < resizes; ++i) us.push_back(stop_once(procs + (i + 1) % 2));
  return {{"", quantile(us, 0.5), "us"}, {"_p99", quantile(us, 0.99), "us"}, {"_max", quantile(us, 1), "us"}};
}

constexpr std::array workloads{workload{"pauses", resize_under_load}};

}  // namespace

std::span<workload const> pause_workloads() { return workloads; }
