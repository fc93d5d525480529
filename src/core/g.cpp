#include "core/g.h"

#include "os/thread.h"

namespace thrum::rt {

void G::check_transition(g_status from, g_status to) noexcept {
  auto const actual = status.load(relaxed);
  if (actual != from || !is_legal(from, to)) {
    illegal_transition("goroutine", id, name_of(actual), name_of(from), name_of(to));
  }
}

void G::wait_until_scanned() const noexcept {
  while (is_scanned.load(acquire)) os::yield_thread();  // pairs with parked_stacks
}

}  // namespace thrum::rt
