#include "core/ender.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/platform.h"
#include "base/report_limits.h"
#include "core/current.h"
#include "os/clock.h"
#include "os/note.h"
#include "os/signal.h"
#include "os/thread.h"

#include <utility>

namespace thrum::rt {
namespace {

// relaxed, except for `run`: the word `ender` decides which goroutine or thread is the ender, and publishes nothing
// else. The ender writes the other fields right after it. `signal` and `function` are read by
// - the ender itself,
// - a thread that detects a deadlock, after the M of the ender has come to rest under the lock of the scheduler,
// - a thread that ends the program in place of the ender. It has waited for the ender for many seconds, or until the M
//   of the ender has come to rest.
struct {
  atomic<int> process{0};                 // the process whose goroutines run
  atomic<std::uintptr_t> ender{0};        // see callers_name; 0: none
  atomic<int> signal{0};                  // way_to_end::signal
  atomic<char const*> function{nullptr};  // way_to_end::function
  atomic<Sched const*> run{nullptr};      // see run_of_ender
} constinit state;

// The M of the calling thread, or nullptr if the thread runs no goroutine.
M const* m_of_goroutine() noexcept {
  M const* const m = current_m();
  return m != nullptr && m->current != nullptr && !m->is_foreign ? m : nullptr;
}

// The address of the goroutine, which is even, or an odd number made of the number of a thread that runs none. The
// record of an ender is not used for another goroutine, because an ender does not end before the program.
std::uintptr_t callers_name() noexcept {
  static_assert(alignof(G) > 1);
  if (M const* const m = m_of_goroutine()) return reinterpret_cast<std::uintptr_t>(m->current);
  return static_cast<std::uintptr_t>(os::current_tid()) << 1U | 1U;
}

bool is_in_child() noexcept { return os::process_id() != state.process.load(relaxed); }

}  // namespace

ender_turn ask_to_end(way_to_end how) noexcept {
  if (is_in_child()) return ender_turn::in_child;
  std::uintptr_t const self = callers_name();
  std::uintptr_t first = 0;
  if (!state.ender.compare_exchange(first, self, relaxed, relaxed)) {
    return first == self ? ender_turn::again : ender_turn::after_another;
  }
  state.signal.store(how.signal, relaxed);
  state.function.store(how.function, relaxed);
  M const* const m = m_of_goroutine();
  state.run.store(m != nullptr ? &m->sched : nullptr, release);  // pairs with run_of_ender
  return ender_turn::first;
}

bool is_ender() noexcept { return !is_in_child() && state.ender.load(relaxed) == callers_name(); }

bool is_ender(G const& g) noexcept {
  return state.ender.load(relaxed) == reinterpret_cast<std::uintptr_t>(&g) && !is_in_child();
}

bool another_is_ender() noexcept {
  std::uintptr_t const ender = state.ender.load(relaxed);
  return ender != 0 && ender != callers_name() && !is_in_child();
}

Sched const* run_of_ender() noexcept { return is_in_child() ? nullptr : state.run.load(acquire); }

bool has_ender() noexcept { return state.ender.load(relaxed) != 0; }

way_to_end how_program_ends() noexcept { return {state.signal.load(relaxed), state.function.load(relaxed)}; }

void wait_for_end_of_program() noexcept {
  wait_for_end_of_program([](void const*) noexcept { return false; }, nullptr);
}

void wait_for_end_of_program(bool (*is_in_vain)(void const* argument) noexcept, void const* argument) noexcept {
  std::int64_t const second_ns = (with_asan || with_tsan ? 3 : 1) * second_of_reports_ns();
  // Longer than any step of a report: a report on a crash has 15 s in all (boot/crash.cpp), and a write has 10 s.
  std::int64_t const without_step_ns = 20 * second_ns;
  std::int64_t const in_all_ns = 120 * second_ns;
  constexpr std::int64_t look_every_ns = 10'000'000;
  std::int64_t now_ns = os::monotonic_ns();
  std::int64_t const until_ns = now_ns + in_all_ns;
  std::int64_t last_step_ns = now_ns;
  std::uint32_t seen = count_steps_of_reports();
  os::note never_woken;
  while (now_ns < until_ns && now_ns - last_step_ns < without_step_ns && !is_in_vain(argument)) {
    static_cast<void>(never_woken.sleep_for(look_every_ns));
    now_ns = os::monotonic_ns();
    std::uint32_t const steps = count_steps_of_reports();
    if (std::exchange(seen, steps) != steps) last_step_ns = now_ns;
  }
}

void end_in_place_of_ender() noexcept {
  int const signal = how_program_ends().signal;
  if (signal == 0) die();
  os::end_by_signal(signal);
}

void note_process_of_run() noexcept {
  if (is_in_child()) {  // the ender of the parent is not in this process
    state.ender.store(0, relaxed);
    state.run.store(nullptr, relaxed);
  }
  state.process.store(os::process_id(), relaxed);
}

}  // namespace thrum::rt
