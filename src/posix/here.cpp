#include "posix/here.h"

#include "core/sched.h"
#include "os/thread.h"
#include "stack/stack.h"

namespace thrum::posix {

bool is_on_own_stack(rt::M const& m) noexcept {
  rt::G const& g = *m.current;
  if (m.in_runtime.load(rt::relaxed)) return false;
  if (!m.sched.options.posix_calls_park || m.sched.epoch != rt::Sched::live_epoch.load(rt::relaxed)) return false;
  auto const* const frame = static_cast<char const*>(__builtin_frame_address(0));
  return g.on != nullptr && frame >= g.on->low && frame < g.on->top;
}

bool is_in_user_code(rt::M const& m) noexcept { return m.current->blocking_depth == 0 && is_on_own_stack(m); }

bool must_not_park() noexcept {
  rt::M const& m = *rt::current_m();
  return rt::os::current_tid() != m.tid || !m.sched.ms_signals.is_in_force();
}

std::size_t own_stack_bytes() noexcept { return rt::current_m()->current->task.stack_bytes; }

}  // namespace thrum::posix
