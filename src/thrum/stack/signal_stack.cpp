#include "stack/signal_stack.h"

#include "os/memory.h"
#include "os/signal.h"
#include "stack/guard.h"

namespace thrum::rt {
namespace {

// As large as the usable part, which consists of whole pages.
std::size_t guard_bytes() noexcept { return os::alt_stack_bytes(); }

}  // namespace

bool signal_stack::guard_holds(char const* address) const noexcept {
  return low != nullptr && address < low && address >= low - guard_bytes();
}

int map_signal_stack(signal_stack& out) noexcept {
  auto const mapped = os::map(guard_bytes() + os::alt_stack_bytes());
  if (mapped.address == nullptr) return mapped.error;
  guard_result const guard = install_guard({}, mapped.address, guard_bytes());
  out = {mapped.address + guard_bytes(), guard.kind == guard_kind::protection};
  return 0;
}

void unmap_signal_stack(signal_stack& gone) noexcept {
  if (gone.low == nullptr) return;
  bool const is_unmapped = os::unmap(gone.low - guard_bytes(), guard_bytes() + os::alt_stack_bytes()) == 0;
  if (is_unmapped && gone.is_split_off) protections_unmapped(1);
  gone = {};
}

}  // namespace thrum::rt
