// The part of a goroutine's record that the public templates fill in: what to run, and room for it.
//
// Internal: `go` and `spawn` are the public face. The record is part of the scheduler's G; a callable of up to
// task_inline_bytes lives inside it, so that starting a goroutine allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thrum::detail {

inline constexpr std::size_t task_inline_bytes = 80;
inline constexpr std::size_t task_inline_align = 16;

enum class task_step : bool {
  run,   // on the goroutine: call the callable, and destroy it however it ends
  drop,  // joinable tasks only: destroy the result that nobody took
};

struct task {
  void (*step)(task&, task_step) = nullptr;
  void* created_at = nullptr;    // program counter of the `go`
  std::uint64_t created_by = 0;  // id of the goroutine that said it
  std::size_t stack_bytes = 0;   // 0: the runtime's default
  alignas(task_inline_align) std::byte storage[task_inline_bytes];
};

enum class joinable : bool { no, yes };

// Takes a record for a new goroutine. Throws std::logic_error while no runtime is alive.
// stack_bytes: 0 for the runtime's default.
task& new_task(joinable kind, std::size_t stack_bytes);
void discard_task(task& unused) noexcept;  // the callable could not be moved in
void recycle_task(task& unused) noexcept;  // one that was kept, and will not be started
void start_task(task& filled) noexcept;    // to this P's runnext; wakes a P when one is idle

// The handle's side of a joinable task.
void join_task(task& joined);  // returns when it has finished; may run it in place
[[nodiscard]] bool join_task_until(task& joined, std::int64_t deadline_ns);  // false: the time was over first
[[nodiscard]] bool task_finished(task const& joined) noexcept;
void release_task(task& joined) noexcept;  // after its result was taken
void detach_task(task& joined) noexcept;   // whoever comes last drops the result

}  // namespace thrum::detail
