#include "wait/wait_timer.h"

#include "os/chaos.h"
#include "sched/park.h"
#include "sched/timers.h"

#include <algorithm>

namespace thrum::rt {
namespace {

void end_wait(timer_record& fired, M& m, std::int64_t) noexcept {
  G& g = *static_cast<G*>(fired.argument);
  if (!g.race.win()) return;
  os::chaos_point("wait_timer.won");
  wake_late(fired, m, g);
}

}  // namespace

void wake_late(timer_record const& fired, M& m, G& g) noexcept {
  g.wake_parameter = const_cast<timer_record*>(&fired);
  g.runnable_since_ns = 0;  // for the mutex profile: no lock was released
  ready(m, g);
}

bool wait_timer::prepare(M& m, std::int64_t deadline_ns) noexcept {
  return prepare(m, deadline_ns, end_wait, m.current);
}

bool wait_timer::prepare(M& m, std::int64_t deadline_ns, timer_function fire, void* argument) noexcept {
  if (!m.p->timers.reserve(1)) return false;
  record_ = take_timer_record(fire, argument);
  if (record_ == nullptr) return false;
  record_->when_ns = std::min(deadline_ns, latest_ns);
  m.current->wake_parameter = nullptr;
  return true;
}

// The record's lock is not needed, because no other thread knows the record until it is in the heap. A caller that has
// to do more before the timer may fire holds the lock.
added_as wait_timer::start(M& m) noexcept {
  record_->armed_in = m.sched.epoch;
  return m.p->timers.add(*record_);
}

bool wait_timer::finish(G& g) noexcept {
  timer_record& r = *record_;
  record_ = nullptr;
  bool const timed_out = g.wake_parameter == &r;
  if (!timed_out) {  // the timer may be firing in vain at this moment; taking the lock waits for it
    os::lock_guard const guard(r.lock);
    stop_locked(r);
  }
  drop_reference(r);
  return timed_out;
}

void wait_timer::discard() noexcept {
  drop_reference(*record_);
  record_ = nullptr;
}

}  // namespace thrum::rt
