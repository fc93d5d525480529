#include "sched/timers.h"

#include "base/ablation.h"
#include "base/heuristics.h"
#include "core/trace.h"
#include "os/clock.h"
#include "sched/runnable.h"
#include "sched/timekeeper.h"

#include <algorithm>
#include <new>

namespace thrum::rt {
namespace {

// The next time of a ticker that was due at due_ns, later than now_ns. A ticker that runs too late leaves ticks out.
std::int64_t next_tick(std::int64_t due_ns, std::int64_t period_ns, std::int64_t now_ns) noexcept {
  std::int64_t const missed = (now_ns - due_ns) / period_ns;
  std::int64_t ahead = 0;
  if (__builtin_mul_overflow(missed + 1, period_ns, &ahead)) return latest_ns;
  return time_after(due_ns, ahead);
}

// r's entry was taken out of a heap, and its reference belongs to the caller. r may have been stopped or set anew since
// then.
void run_record(M& m, timer_record& r, std::int64_t now_ns) noexcept {
  {
    os::lock_guard const guard(r.lock);
    // If r is in a heap, it was set anew, and that entry counts. acquire pairs with take_due, perhaps by another M.
    if (r.armed_in == m.sched.epoch && r.in.load(acquire) == nullptr) {
      p_timers& own = m.p->timers;
      if (r.when_ns > now_ns) {
        timer_was_added(m, own.add(r));  // it was set to a later time
      } else {
        std::int64_t const due_ns = r.when_ns;
        if (r.period_ns == 0) {
          r.armed_in = 0;
        } else {
          r.when_ns = next_tick(due_ns, r.period_ns, now_ns);
          timer_was_added(m, own.add(r));
        }
        r.fire(r, m, due_ns);
      }
    }
  }
  drop_reference(r);
}

// How many due timers are run at once. A quarter of the run queue stays free for what the next goroutines make
// runnable: if the queue overflows, half of it goes to the global queue, and these sleepers wait behind everything
// there. At least one timer is run, however full the queue is, because put_tail makes room.
std::uint32_t how_many_fit(run_queue const& queue) noexcept {
  std::uint32_t const fill_to = queue.capacity() - queue.capacity() / 4;
  std::uint32_t const filled = std::min(queue.size(), fill_to);
  return std::clamp(fill_to - filled, 1U, timers_at_once);
}

// Prefetches what a sleeper needs to go on. After a long sleep nothing of it is in the cache, and the prefetches of a
// whole batch run at the same time.
void prefetch_frames(G const& g) noexcept {
  auto const frame = reinterpret_cast<std::uintptr_t>(g.saved.sp);
  for (unsigned line = 0; line < 4; ++line) {
    __builtin_prefetch(reinterpret_cast<void const*>(frame + line * cache_line_bytes), 1);
  }
}

}  // namespace

std::int64_t timer_clock_ns() noexcept { return os::monotonic_ns(); }

void run_due_timers(M& m, P& whose, std::int64_t now_ns) noexcept {
  P& own = *m.p;
  timer_entry due[timers_at_once];
  std::uint32_t const limit = how_many_fit(own.queue);
  // Tickers go back into a heap. The own heap has room for what was taken out of it. Without memory for more, the
  // timers of other Ps are left alone.
  if (&whose != &own && !own.timers.reserve(limit)) return;
  std::uint32_t const count_due = whose.timers.take_due(now_ns, due, limit);
  if (count_due == 0) return;
  search_batch runnable(m);
  std::uint64_t sleepers = 0;
  for (std::uint32_t i = 0; i < count_due; ++i) {
    if (due[i].is_record()) {
      run_record(m, due[i].record(), now_ns);
      continue;
    }
    G& g = due[i].sleeper();
    if (applies(heuristic::frame_prefetch)) prefetch_frames(g);
    g.end_wait();
    trace::readied(m.sched, g, trace::ready_detail::tail);
    ++sleepers;
    runnable.add(g);
  }
  count(own.counters.readies, sleepers);
  count(own.counters.timers_run, count_due);
  trace::happened(m.sched, trace::kind::timers, count_due);
}

void look_at_timers(M& m) noexcept {
  P& own = *m.p;
  if (own.runs_to_look.load(relaxed) == 0) let_others_pass_runnext(own);
  if (m.timers_are_due) {
    m.timers_are_due = false;
    std::int64_t const now_ns = timer_clock_ns();
    for (auto const& p : m.sched.procs) {
      if (p->timers.next_when() <= now_ns) run_due_timers(m, *p, now_ns);
    }
    return;
  }
  if (!own.timers.any()) return;  // then the clock is not read
  if (std::int64_t const now_ns = timer_clock_ns(); own.timers.next_when() <= now_ns) run_due_timers(m, own, now_ns);
}

timer_record& new_timer(timer_function fire, void* argument) {
  timer_record* made = nullptr;
  {
    runtime_mark const mark;
    made = take_timer_record(fire, argument);
  }
  if (made == nullptr) throw std::bad_alloc();
  return *made;
}

void end_timer(timer_record& r) noexcept {
  runtime_mark const mark;
  {
    os::lock_guard const guard(r.lock);
    stop_locked(r);
  }
  drop_reference(r);
}

bool stop_locked(timer_record& r) noexcept {
  r.lock.assert_held();
  bool const was_armed = r.armed_in != 0 && r.armed_in == Sched::live_epoch.load(relaxed);  // of a run that is alive
  r.armed_in = 0;
  if (p_timers* const heap = r.in.load(acquire)) heap->forget(r);  // see timer_record.h
  return was_armed;
}

}  // namespace thrum::rt
