#include "boot/chaos.h"

#include "base/check.h"
#include "os/chaos.h"
#include "os/env.h"
#include "os/lock.h"
#include "os/note.h"
#include "os/pause_signal.h"
#include "os/thread_state.h"
#include "sched/world.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace thrum::rt {
namespace {

// 0: the variable is not set, or is no number.
std::uint32_t number_of(char const* variable) noexcept {
  char const* const text = os::environment(variable);
  return text == nullptr ? 0 : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

}  // namespace

chaos::chaos(Sched& s) noexcept : sched_(s) {
  if constexpr (!debug_checks) return;
  char const* const text = os::environment("THRUM_CHAOS");
  if (text == nullptr) return;
  std::uint64_t const seed = std::strtoull(text, nullptr, 10);
  random_ = random_source(seed);
  // With one P, no program expects another goroutine to run at the same time.
  bool const resizes = os::environment("THRUM_CHAOS_RESIZE") != nullptr && s.procs.size() > 1;
  if (resizes) procs_max_ = std::min(2 * s.procs.size(), procs_max);
  stops_ = procs_max_ != 0 || os::environment("THRUM_CHAOS_STOPS") != nullptr;
  std::uint32_t const slices_end_one_in = number_of("THRUM_CHAOS_PREEMPT");
  storms_ = slices_end_one_in != 0;
  os::set_chaos({seed, slices_end_one_in, os::environment("THRUM_CHAOS_POINTS")});
  if (!stops_ && !storms_) return;
  auto const count = [&s](int more) {  // under the lock, because sysmon already runs
    os::lock_guard const guard(s.lock);
    s.own_threads += more;
  };
  count(1);
  int const error = os::create_thread(thread_, thread_main, this, os::takes_signals::only_its_own);
  runs_ = error == 0;
  if (runs_) return;
  count(-1);
  print_error(
      "thrum: the chaos thread could not be created (errno=%d), so no goroutine is stopped or preempted at random",
      error);
}

void chaos::stop() noexcept {
  if (!std::exchange(runs_, false)) return;
  stopping_.store(true, release);  // pairs with the loop
  os::join_thread(thread_, tid_);
}

void* chaos::thread_main(void* self) {
  os::set_thread_name("thrum-chaos");
  auto& me = *static_cast<chaos*>(self);
  me.tid_ = os::current_tid();
  me.make_disorder();
  return nullptr;
}

void chaos::sleep_for(std::int64_t ns) noexcept {
  os::note never;
  static_cast<void>(never.sleep_for(ns));
}

void chaos::make_disorder() noexcept {
  constexpr std::uint32_t between_stops_ns_max = 2'000'000;
  constexpr std::uint32_t storm_ns_max = 450'000;
  while (!stopping_.load(acquire)) {  // pairs with stop
    sleep_for(random_.below(storms_ ? storm_ns_max : between_stops_ns_max));
    if (sched_.world.is_forbidden()) continue;
    if (storms_) preempt_one_m();
    bool const stops_now = stops_ && (!storms_ || random_.below(between_stops_ns_max / storm_ns_max) == 0);
    if (stops_now) stop_world();
  }
}

void chaos::stop_world() noexcept {
  constexpr std::int64_t patience_ns = 1'000'000'000;
  int const count = procs_max_ == 0 ? 0 : 1 + static_cast<int>(random_.below(static_cast<std::uint32_t>(procs_max_)));
  fresh_procs fresh = make_procs(sched_, count);
  stopped_world const world(sched_, patience_ns);
  if (count != 0 && world.is_complete()) static_cast<void>(resize(sched_, count, fresh));  // false: no memory
}

// Does what sysmon does at the end of a slice, and with the same care: a thread that sleeps in the kernel, or is on its
// way out of it, is not signalled (T04).
void chaos::preempt_one_m() noexcept {
  constexpr std::int64_t watched_for_ns = 50'000;
  P& p = *sched_.procs.all()[random_.below(static_cast<std::uint32_t>(sched_.procs.all().size()))];
  M* const m = m_seen_on(p);
  if (m == nullptr) return;
  int const tid = hint_of(m->tid);
  if (tid == 0) return;  // the thread is being made
  std::int64_t used_ns = os::thread_cpu_ns(tid);
  sleep_for(watched_for_ns);
  if (hint_of(p.m) != m) return;
  m->pause.ask_for(p.schedtick.load(relaxed));
  if (m->in_runtime.load(relaxed)) {
    m->attention.fetch_or(m_attend::pause, relaxed);
    return;
  }
  os::thread_watch watch;
  bool const computes = os::has_computed(tid, watched_for_ns / 4, used_ns);
  if (!computes || !sched_.options.async_preemption) return;
  if (watch.look(tid).activity == os::thread_activity::runs) static_cast<void>(os::send_pause_signal(tid));
}

}  // namespace thrum::rt
