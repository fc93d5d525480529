#include "sys/limit_watch.h"

#include "base/check.h"
#include "base/heuristics.h"
#include "core/ender.h"
#include "os/lock.h"
#include "sched/queues.h"
#include "sched/resting_ms.h"
#include "sched/watch.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace thrum::rt {

using namespace watching;

namespace {

bool work_waits(Sched& s, std::int64_t now_ns) noexcept { return work_anywhere(s) || earliest_timer(s) <= now_ns; }

bool a_p_is_unused(Sched const& s) noexcept {
  return s.idle.count() != 0 ||
         std::any_of(s.procs.begin(), s.procs.end(), [](P const* p) { return p->seen.slice.is_kept; });
}

// Whether m is inside the runtime without a P: it is about to take an idle P, or to look for work once more before it
// rests.
bool comes_for_p(M const& m) noexcept {
  bool const has_p = hint_of(m.p) != nullptr || hint_of(m.next_p) != nullptr;
  return m.status == m_status::awake && !has_p && m.in_runtime.load(relaxed);
}

// What ends the program, and is not to be cut off: see core/ender.h.
enum class ender_is : std::uint8_t { absent, at_work, waiting };

// A thread that runs no goroutine, or a goroutine of an earlier run, needs no thread of this run.
ender_is look_for_ender(Sched& s) noexcept {
  if (!has_ender()) return ender_is::absent;
  ender_is found = ender_is::at_work;
  s.records.for_each_g([&](G const& g) noexcept {
    g_status const status = g.status.load(relaxed);
    bool const has_thread = status == g_status::running || status == g_status::syscall || status == g_status::hosting;
    if (!has_thread && is_ender(g)) found = ender_is::waiting;
  });
  return found;
}

// Queues also have entries of goroutines that were joined in place, and residents are runnable for their own thread
// only. So this looks at all goroutines. It is called at most once in the time that the program may stand still, as are
// the functions before and after it.
bool one_waits_for_any_thread_locked(Sched& s) noexcept {
  bool found = false;
  s.records.for_each_g([&](G const& g) noexcept {
    g_status const status = g.status.load(relaxed);
    bool const is_runnable = status == g_status::runnable || status == g_status::unstarted;
    found = found || (is_runnable && hint_of(g.only_m) == nullptr);
  });
  return found;
}

// The first entry of a heap may stand for a timer that was set to a later time, or for one that was stopped.
bool a_timer_is_due(Sched& s, std::int64_t now_ns) noexcept {
  return std::any_of(s.procs.all().begin(), s.procs.all().end(),
                     [&](P* p) { return p->timers.has_due(now_ns, s.epoch); });
}

}  // namespace

std::uint64_t limit_watch::turns_begun() const noexcept {
  std::uint64_t sum = sched_.unannounced.count.load(relaxed);
  for (P const* const p : sched_.procs.all()) sum += p->counters.runs() + p->schedtick.load(relaxed);
  return sum;
}

bool limit_watch::may_stand_still(std::int64_t now_ns) const noexcept {
  return a_p_is_unused(sched_) && work_waits(sched_, now_ns);
}

bool limit_watch::stands_still_locked(std::int64_t now_ns) const noexcept {
  Sched& s = sched_;
  s.lock.assert_held();
  if (s.end.has_begun() || s.end.exiting_m() != nullptr || s.world.is_under_way()) return false;
  bool const m_is_coming =
      thread_is_available_locked(s) || s.ms.count(m_status::starting) != 0 || s.idle.spinning() != 0;
  if (m_is_coming || !may_stand_still(now_ns)) return false;
  return s.ms.all().find(comes_for_p) == nullptr;
}

void limit_watch::look(std::int64_t now_ns) noexcept {
  std::int64_t const since_ns = now_ns - looked_at_ns_;
  if (since_ns < limit_looks_apart_ns) return;
  looked_at_ns_ = now_ns;
  std::uint64_t const turns = turns_begun();
  if (std::exchange(turns_seen_, turns) != turns || !may_stand_still(now_ns)) {
    stood_still_ns_ = 0;
    return;
  }
  if (!stands_still(now_ns)) {
    stood_still_ns_ = 0;
    return;
  }
  stood_still_ns_ += std::min(since_ns, 2 * limit_looks_apart_ns);
  if (stood_still_ns_ < sched_.options.limit_patience_ns) return;
  end_program_if_work_waits(now_ns);
  stood_still_ns_ = 0;
}

bool limit_watch::stands_still(std::int64_t now_ns) const noexcept {
  os::lock_guard const guard(sched_.lock);
  return stands_still_locked(now_ns);
}

// Timers are looked at without sched.lock, because the locks of timers come before it.
void limit_watch::end_program_if_work_waits(std::int64_t now_ns) const noexcept {
  bool const timer_waits = a_timer_is_due(sched_, now_ns);
  os::lock_guard const guard(sched_.lock);
  bool const one_waits = timer_waits || one_waits_for_any_thread_locked(sched_);
  ender_is const ender = look_for_ender(sched_);
  bool const is_lasting = one_waits && turns_begun() == turns_seen_ && stands_still_locked(now_ns);
  if (!is_lasting || ender == ender_is::at_work) return;
  report_locked();
  if (ender == ender_is::waiting) end_in_place_of_ender();
  die();
}

void limit_watch::report_locked() const noexcept {
  print_error(
      "thrum: program exceeds %d-thread limit (options::max_threads, set_max_threads): a goroutine or a timer has been "
      "waiting for a thread for %lld ms, and all threads are in use. %d of them are in calls that were not announced "
      "(thrum::blocking)",
      sched_.pauses.threads_max(), static_cast<long long>(stood_still_ns_ / 1'000'000), sched_.unannounced.without_p());
}

}  // namespace thrum::rt
