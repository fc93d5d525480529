#include "core/g.h"

#include "os/clock.h"
#include "os/short_wait.h"

namespace thrum::rt {

void G::check_transition(g_status from, g_status to) noexcept {
  auto const actual = status.load(relaxed);
  if (actual != from || !is_legal(from, to)) {
    illegal_transition("goroutine", id, name_of(actual), name_of(from), name_of(to));
  }
}

void G::end_attended_wait() noexcept {
  // acquire pairs with parked_stacks: if the goroutine is not being scanned, sysmon has finished with its stack.
  constexpr std::uint8_t until_now = g_attend::aged | g_attend::timed;
  auto const before = attention.fetch_and(static_cast<std::uint8_t>(~until_now), acquire);
  if ((before & g_attend::scanned) != 0) detour.is_scanned = 1;
  if ((before & g_attend::timed) != 0) begin_ready_time();
}

void G::await_end_of_scan() noexcept {
  os::short_wait wait;
  while ((attention.load(acquire) & g_attend::scanned) != 0) wait.pause();  // pairs with parked_stacks
  // relaxed: sysmon writes what belongs to `aged` only while it scans. It may have done so after the wait ended, so the
  // bit is cleared here too.
  attention.fetch_and(static_cast<std::uint8_t>(~g_attend::aged), relaxed);
  detour.is_scanned = 0;
}

void G::begin_ready_time() noexcept {
  if (detour.is_locked || only_m != nullptr) return;
  runnable_since_ns = os::monotonic_ns();
  detour.is_timed = 1;
}

void G::time_next_turn() noexcept {
  auto const now = status.load(relaxed);
  if (now == g_status::runnable) begin_ready_time();
  if (now == g_status::waiting || now == g_status::running)
    attention.fetch_or(g_attend::timed, relaxed);  // relaxed: the bit says nothing about other memory
}

}  // namespace thrum::rt
