#include "measure.h"

#include <fstream>

#include <unistd.h>

namespace tour {
namespace {

using stats = thrum::proc_stats;

constexpr std::uint64_t stats::*counters[] = {
    &stats::created,         &stats::ended,  &stats::switches_direct, &stats::switches_via_g0, &stats::stack_handovers,
    &stats::joined_in_place, &stats::parks,  &stats::readies,         &stats::yields,          &stats::overflows,
    &stats::global_takes,    &stats::steals, &stats::stolen,          &stats::wakes,           &stats::spins,
};

}  // namespace

thrum::proc_stats sum_of(std::span<thrum::proc_stats const> procs) {
  stats sum;
  for (stats const& each : procs) {
    for (auto const counter : counters) sum.*counter += each.*counter;
  }
  return sum;
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t mapped_pages = 0;
  std::uint64_t resident_pages = 0;
  statm >> mapped_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

measurement::measurement() : counters_(sum_of(thrum::read_stats().procs)), began_(std::chrono::steady_clock::now()) {}

measurement::result measurement::so_far() const {
  std::chrono::nanoseconds const took = std::chrono::steady_clock::now() - began_;
  stats counted = sum_of(thrum::read_stats().procs);
  for (auto const counter : counters) counted.*counter -= counters_.*counter;
  return {static_cast<std::uint64_t>(took.count()), counted};
}

}  // namespace tour
