#include "sched/library_frames.h"

#include "os/guarded_call.h"
#include "os/late_code.h"
#include "os/loaded_code.h"
#include "stack/stack.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace thrum::rt {

bool malloc_cannot_be_told(Sched const& s) noexcept {
  return os::libc_is_in_the_program() && !s.options.stop_beside_own_malloc;
}

bool has_frames_of_libc(G const& g, stack_registers const& from) noexcept {
  constexpr std::size_t frames_max = 256;  // 2 KiB of the signal stack; deeper calls are not seen
  if (!os::loader_can_be_asked || g.on == nullptr) return false;
  std::array<std::uintptr_t, frames_max> pcs;
  std::size_t const count = os::walk_stack_guarded(from, {g.on->low, g.on->top}, pcs.data(), pcs.size());
  return std::any_of(pcs.begin(), pcs.begin() + count,
                     [](std::uintptr_t pc) { return os::owner_of_code(pc) == os::code_owner::libc_kin; });
}

}  // namespace thrum::rt
