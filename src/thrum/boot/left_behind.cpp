#include "boot/left_behind.h"

#include "base/sanitizer_of_program.h"
#include "stack/stack.h"
#include "wait/after_func.h"

#if THRUM_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace thrum::rt {
namespace {

// Goroutines in the run queues will not run. The entry of a joinable goroutine gives its reference back.
void forget_queued_entries(Sched& s) noexcept {
  auto const forget = [](entry e) {
    G& g = *e.g();
    // relaxed: no other thread runs
    if (e.is_claimable()) {
      g.references.fetch_sub(1U, relaxed);
    } else if (g.status.load(relaxed) == g_status::unstarted) {
      end_with_its_run(g);
    }
  };
  while (entry const e = s.global_queue.pop_plain()) forget(e);
  for (P* const p : s.procs.all()) {
    while (entry const e = p->queue.take_next()) forget(e);
    while (entry const e = p->queue.pop()) forget(e);
  }
}

bool has_frames(g_status status) noexcept {
  return status == g_status::runnable || status == g_status::running || status == g_status::waiting ||
         status == g_status::hosting || status == g_status::syscall;
}

// Memory that only a goroutine refers to that never ended is no leak, because the goroutine could have gone on.
void tell_leak_checker([[maybe_unused]] G const& g) noexcept {
#if THRUM_ASAN || THRUM_PROGRAM_MAY_HAVE_ASAN
  if (!program_has_asan()) return;
  auto const status = g.status.load(relaxed);
  if (status == g_status::idle || status == g_status::dead) return;
  __lsan_register_root_region(&g, sizeof g);
  if (!has_frames(status) || g.on == nullptr) return;
  bool const is_parked = status == g_status::waiting || (status == g_status::runnable && !is_on_own_thread(g));
  // A goroutine that was paused when the run ended stands on the signal stack.
  auto const* const sp = static_cast<char const*>(g.saved.sp);
  auto const* const low = is_parked && sp >= g.on->low && sp < g.on->top ? sp : g.on->low;
  __lsan_register_root_region(low, static_cast<std::size_t>(g.on->top - low));
#endif
}

}  // namespace

void keep_referenced_memory(Sched& s) noexcept {
  forget_queued_entries(s);
  for (P* const p : s.procs.all()) {
    while (timer_record* const r = p->timers.take_any()) end_with_its_run(*r);
  }
  bool frames = false;
  bool records = false;
  s.records.for_each_g_unlocked([&](G& g) {
    auto const status = g.status.load(relaxed);  // relaxed: no other thread runs
    bool const its_frames_stay = has_frames(status);
    bool const has_handle = g.is_joinable && g.references.load(relaxed) != 0;
    g.was_orphaned.store(true, relaxed);
    frames = frames || its_frames_stay;
    // The callable of a goroutine that never started is left behind too, with what it owns. A leak checker must be able
    // to find that.
    bool const owns_callable = program_has_asan() && status == g_status::unstarted;
    records = records || its_frames_stay || has_handle || owns_callable;
    tell_leak_checker(g);
  });
  if (frames) s.stacks.abandon();
  if (records) s.records.abandon_gs();
}

void abandon(Sched* s) noexcept {
  static constinit atomic<Sched*> abandoned{nullptr};
  s->next_abandoned = abandoned.exchange(s, acq_rel);
  s->records.for_each_g([](G& g) {
    g.was_orphaned.store(true, relaxed);
    tell_leak_checker(g);
  });
}

}  // namespace thrum::rt
