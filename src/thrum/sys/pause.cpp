#include "sys/pause.h"

#include "arch/context.h"
#include "arch/stack_walk.h"
#include "base/check.h"
#include "core/ender.h"
#include "os/futex.h"
#include "os/interrupted_code.h"
#include "os/loaded_code.h"
#include "sched/library_frames.h"

namespace thrum::rt {

m_status paused_status(M const& m) noexcept {
  bool const may_hold_libc_locks = m.is_interrupted_in_libc || os::libc_is_in_the_program();
  return may_hold_libc_locks ? m_status::paused_in_libc : m_status::paused;
}

void stop_if_run_has_ended(M& m) noexcept {
  // The M that took m out of the queue has promised it a P, and m has not counted as paused since then. So either
  // all_ms_have_stopped saw that, or m sees the end here.
  if (m.sched.end.is_seen_in_order()) stop_for_good_if_possible(m);
}

void go_on_after_the_end(M& m) noexcept {
  if (!m.current->keeps_its_m()) m.current->only_m = nullptr;
  m.attention.store(m_attend::away | m_attend::unannounced, relaxed);
}

namespace {

bool was_called_by_libc(M& m) noexcept {
  G& g = *m.current;
  if (m.interrupted != nullptr) return has_frames_of_libc(g, os::interrupted_registers(m.interrupted));
  struct {
    G& g;
    bool was_called;
  } look{g, false};
  call_with_context(
      g.saved,
      [](void* its) noexcept {
        auto& of = *static_cast<decltype(look)*>(its);
        of.was_called = has_frames_of_libc(of.g, registers_of(of.g.saved));
      },
      &look);
  return look.was_called;
}

}  // namespace

void stop_for_good_if_possible(M& m) noexcept {
  run_end const& end = m.sched.end;
  if (end.exits_on(m) || is_dying()) return;              // it is about to end the program
  if (!end.is_by_exit() && is_ender(*m.current)) return;  // the end of the run waits for it
  if (malloc_cannot_be_told(m.sched) || m.is_interrupted_in_libc || was_called_by_libc(m)) return;
  // the P that it left behind, if any, belongs to other threads
  if (m.p == nullptr) m.in_runtime.store(false, release);
  m.sleeps_inside.store(true, relaxed);  // relaxed: it only tells that no thread need wait for this one
  // seq_cst: see stop_if_run_has_ended. If all other threads have stopped, this is the last access to the run's memory.
  bool const is_late = m.sched.ms.stop_for_good();
  if (is_late) Sched::threads_asleep_for_good.fetch_add(1, relaxed);
  os::sleep_for_good();
}

}  // namespace thrum::rt
