// The numbers of the tracks in a Perfetto file.
#pragma once

#include "command/trace/history.h"

#include <cstdint>

namespace thrum::command::tracks {

// Perfetto keeps 0 for itself.
enum : std::uint64_t { process = 1, ps, ms, goroutines, world, runnable, spinning, in_calls, tasks, global_queue };

// The numbers of goroutines and Ms in the file may be any, so places in lists are used.
constexpr std::uint64_t of_p(std::uint16_t p) { return (std::uint64_t{1} << 32U) + p; }
constexpr std::uint64_t of_m(std::uint64_t place) { return (std::uint64_t{2} << 32U) + place; }
constexpr std::uint64_t of_goroutine(std::uint64_t place) { return (std::uint64_t{3} << 32U) + place; }
// A child of the goroutine's track.
constexpr std::uint64_t of_regions(std::uint64_t place) { return (std::uint64_t{4} << 32U) + place; }
constexpr std::uint64_t of_task(std::uint64_t place) { return (std::uint64_t{5} << 32U) + place; }

}  // namespace thrum::command::tracks
