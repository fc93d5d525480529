// The part of a goroutine's record that the public templates fill in: what to run, and storage for it.
//
// Internal: the public functions are `go` and `spawn`. The record is part of the scheduler's G. A callable of up to
// task_inline_bytes is stored in it, so that starting a goroutine allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thrum::detail {

inline constexpr std::size_t task_inline_bytes = 80;
inline constexpr std::size_t task_inline_align = 16;

enum class task_step : bool {
  run,   // on the goroutine: call the callable, and destroy it however the call ends
  drop,  // joinable tasks only: destroy a result that was not taken
};

struct task {
  void (*step)(task&, task_step) = nullptr;
  void* created_at = nullptr;    // program counter of the `go`
  std::uint64_t created_by = 0;  // id of the goroutine that called `go`
  std::size_t stack_bytes = 0;   // 0: the runtime's default
  alignas(task_inline_align) std::byte storage[task_inline_bytes];
};

enum class joinable : bool { no, yes };

// Returns a record for a new goroutine. Throws std::logic_error while no runtime is alive. If stack_bytes is 0, the
// stack has the runtime's default size.
task& new_task(joinable kind, std::size_t stack_bytes);
void discard_task(task& unused) noexcept;  // for a task whose callable could not be moved in
// For a task that was kept and will not be started. `epoch` is the run in which it was made. If that run is over, the
// record is not touched.
void recycle_task(task& unused, std::uint32_t epoch) noexcept;
// Puts it into this P's runnext, and starts an M on an idle P if there is one.
void start_task(task& filled) noexcept;

// The handle's side of a joinable task.
void join_task(task& joined);  // returns when it has finished; may run it in place
[[nodiscard]] bool join_task_until(task& joined, std::int64_t deadline_ns);  // false: the time was over first
[[nodiscard]] bool task_finished(task const& joined) noexcept;
void release_task(task& joined) noexcept;  // called after its result was taken
void detach_task(task& joined) noexcept;   // the handle or the goroutine, whichever comes last, drops the result

}  // namespace thrum::detail
