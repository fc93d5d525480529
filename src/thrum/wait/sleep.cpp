// Sleeping (S27; Go's time.Sleep).
//
// A sleep is never cancelled, so it needs no record. The goroutine is an entry in its P's heap, which the commit step
// puts there when the goroutine has left its stack. From then on any M that finds the entry due may run the goroutine.
#include "core/current.h"
#include "os/note.h"
#include "sched/park.h"
#include "sched/timekeeper.h"
#include "sched/timers.h"
#include <thrum/sleep.h>

#include <new>

namespace thrum::detail {
namespace {

using namespace rt;

void commit_sleep(M& m, G& left, void* when_ns) noexcept {
  timer_was_left(m, m.p->timers.add(left, *static_cast<std::int64_t*>(when_ns)));
}

void sleep_as_goroutine(M& m, std::int64_t when_ns) {
  enter_runtime(m);
  if (!m.p->timers.reserve(1)) {
    leave_runtime(m);
    throw std::bad_alloc();
  }
  leave_runtime(park(m, wait_reason::sleep, commit_sleep, &when_ns, commit_holds::nothing));
}

void sleep_as_thread(std::int64_t when_ns) noexcept {
  os::note never_woken;
  static_cast<void>(never_woken.sleep_until(when_ns));
}

void sleep_until_moment(std::int64_t when_ns) {
  M* const m = current_m();
  if (m != nullptr && m->current != nullptr && !m->is_foreign) {
    sleep_as_goroutine(*m, when_ns);
  } else {
    sleep_as_thread(when_ns);
  }
}

}  // namespace

std::int64_t clock_ns() noexcept { return timer_clock_ns(); }

void sleep_for_ns(std::int64_t ns) {
  if (ns > 0) sleep_until_moment(time_after(timer_clock_ns(), ns));
}

void sleep_until_ns(std::int64_t when_ns) {
  if (when_ns > timer_clock_ns()) sleep_until_moment(when_ns < latest_ns ? when_ns : latest_ns);
}

}  // namespace thrum::detail
