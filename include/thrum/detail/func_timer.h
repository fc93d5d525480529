// The part of after_func that does not depend on the function's type. Internal.
//
// References to the state: one for each handle, one for a pending call, and one for each call under way. The goroutine
// of the next call is made when the call is set, because nothing may be allocated when the call is due. If a call is
// stopped, its goroutine is kept for the next setting.
#pragma once

#include <thrum/detail/atomic.h>
#include <thrum/detail/task.h>

#include <cstdint>
#include <new>

namespace thrum::rt {
struct timer_record;
}  // namespace thrum::rt

namespace thrum::detail {

struct func_timer_state {
  // do not change once the state is made
  void (*call)(func_timer_state&) = nullptr;
  void (*destroy)(func_timer_state&) noexcept = nullptr;
  rt::timer_record* timer = nullptr;

  atomic<std::uint32_t> references{1};

  // under the timer's lock
  task* prepared = nullptr;       // the goroutine of the next call
  std::uint32_t prepared_in = 0;  // the run that it belongs to
  bool is_pending = false;        // there is a reference for a pending call
};

void make_func_timer(func_timer_state& s);  // makes its timer; throws std::bad_alloc
void retain_func_timer(func_timer_state& s) noexcept;
void release_func_timer(func_timer_state& s) noexcept;
bool stop_func_timer(func_timer_state& s) noexcept;

[[nodiscard]] bool needs_goroutine(func_timer_state& s) noexcept;

// The state before the call was set. without_goroutine means that nothing was done because a goroutine is needed.
enum class func_timer_was : std::uint8_t { idle, pending, without_goroutine };
// `fresh` is a goroutine for the call, or nullptr; set_func_timer takes it over in any case. Throws std::logic_error
// while no runtime is alive, and std::bad_alloc.
[[nodiscard]] func_timer_was set_func_timer(func_timer_state& s, std::int64_t ns, task* fresh);

// The function of such a goroutine. The address of the state is in the task's storage.
void run_func_timer(task& self, task_step what);

// Inlined into the user's call, so that reports name that call as the place where the goroutine was made.
[[gnu::always_inline]] inline bool arm_func_timer(func_timer_state& s, std::int64_t ns) {
  for (;;) {
    task* fresh = nullptr;
    if (needs_goroutine(s)) {
      fresh = &new_task(joinable::no, 0);
      ::new (static_cast<void*>(fresh->storage)) func_timer_state*(&s);
      fresh->step = run_func_timer;
    }
    func_timer_was const before = set_func_timer(s, ns, fresh);
    if (before != func_timer_was::without_goroutine) return before == func_timer_was::pending;
  }
}

}  // namespace thrum::detail
