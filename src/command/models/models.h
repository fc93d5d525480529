// The models of concurrency that `thrum bench models` compares, and the jobs that it gives them. Row S36.
#pragma once

#include "command/models/sizes.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace thrum::command {

enum class model : std::uint8_t { thread_each, one_thread, locked_queue, with_ps };
enum class job : std::uint8_t { start_and_join, ping_pong, computing, blocked, waiting };
inline constexpr std::size_t model_count = 4;
inline constexpr std::size_t job_count = 5;

[[nodiscard]] job_sizes sizes_for_this_machine();
[[nodiscard]] job_sizes short_sizes();

// Runs one job in this process.
[[nodiscard]] measured measure(model how, job which, job_sizes const& sizes);
// The sum that the job has if it is done right, or 0 if only the comparison with other models tells.
[[nodiscard]] std::uint64_t right_sum(job which, job_sizes const& sizes);

struct cell {
  measured is{};        // of the run whose value is the median
  std::string error{};  // why it could not be measured, or empty
};
using comparison = std::array<std::array<cell, model_count>, job_count>;
// A run takes seconds at most. This is the limit of one that hangs.
inline constexpr std::chrono::minutes longest_run{10};
// Runs one job in a process of its own. Needs a process with one thread. If the process has not ended after the limit,
// it is killed.
[[nodiscard]] cell measure_in_child(model how, job which, job_sizes const& sizes,
                                    std::chrono::milliseconds limit = longest_run);
// Runs each job on each model, each run in a process of its own, the models in turns. Needs a process with one thread.
[[nodiscard]] comparison compare(job_sizes const& sizes, unsigned rounds);

}  // namespace thrum::command
