// The numbers that `thrum trace FILE` prints. summarise.h computes them.
#pragma once

#include "command/trace/format.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace thrum::command {

// Percentiles by nearest rank: p50 of 4 values is the second smallest.
struct distribution {
  std::uint64_t count = 0;
  double total_ns = 0;
  std::int64_t p50_ns = 0, p99_ns = 0, worst_ns = 0;
};
[[nodiscard]] distribution distribution_of(std::vector<std::int64_t> values_ns);

// The goroutines that were created at one place in the code.
struct site_row {
  std::uint64_t site = 0;
  std::string name;
  std::uint64_t goroutines = 0;
  std::uint64_t slices = 0;
  std::array<double, g_states> ns{};  // by state
  distribution latency;               // from `ready` to `start`
  distribution first_start;           // from `create` to `start`
};

struct slice_row {
  std::uint64_t goroutine;
  std::string name;  // of the goroutine, or of the place where it was created
  std::uint16_t p;
  std::int64_t begin_ns, ns;  // since the beginning of the trace
  char const* ended_by;
};

struct blocker_row {
  std::uint8_t reason;
  std::uint64_t object;
  std::uint64_t waits = 0;
  std::uint64_t still = 0;  // waits that the trace does not see the end of
  double total_ns = 0;
  std::int64_t longest_ns = 0;
  std::string example;  // where the goroutine was created that waited longest
  std::uint64_t longest_goroutine = 0;
  // If it is a lock: the goroutine that held it when that wait began, and where it was created. 0: not known.
  std::uint64_t longest_holder = 0;
  std::string holder;
};

struct waker_row {
  std::string waker, at, woken;  // where they were created, and where the waker's code readies; empty: not known
  std::uint64_t times = 0;
};

struct p_row {
  std::uint16_t p;
  double running_ns = 0;  // a goroutine runs
  double held_ns = 0;     // an M holds it
  std::uint64_t slices = 0;
  std::uint64_t steals = 0, stolen = 0;  // how often it stole, and how many goroutines
};

struct summary {
  std::int64_t duration_ns = 0;
  std::uint64_t records = 0;
  std::uint64_t goroutines = 0, created = 0, ended = 0, existed_before = 0;
  std::uint64_t ms = 0;
  std::array<double, g_states> ns{};
  distribution latency;
  distribution first_start;
  std::vector<site_row> sites;        // most running time first
  std::vector<slice_row> longest;     // longest first
  std::vector<blocker_row> blockers;  // longest in sum first
  std::vector<waker_row> wakers;      // most often first
  std::vector<p_row> ps;

  std::uint64_t readied_next = 0, readied_tail = 0, readied_global = 0;
  std::uint64_t steals = 0, stolen = 0;
  std::map<std::uint16_t, std::pair<std::uint64_t, std::uint64_t>> steals_of;  // by the P that steals: both numbers
  std::uint64_t calls = 0, calls_announced_long = 0, calls_found = 0;
  std::uint64_t returns_without_p = 0;
  // A P leaves a goroutine that is in a call.
  std::uint64_t hand_offs = 0, hand_offs_by_sysmon = 0;
  distribution hand_off_delay;  // from `call` to `release`, of the calls that were announced
  std::uint64_t yields = 0, preempt_requests = 0, preempted_at_channels = 0, preempted_in_code = 0;
  distribution world_stops;  // from stop_world to start_world
  std::uint64_t timers = 0, polled = 0, polls = 0, spins = 0, spins_with_work = 0;
};

}  // namespace thrum::command
