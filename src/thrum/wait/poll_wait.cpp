#include "wait/poll_wait.h"

#include "core/forked.h"
#include "core/poll_table.h"
#include "os/chaos.h"
#include "sched/park.h"
#include "sched/timekeeper.h"
#include "sched/timers.h"
#include "wait/poll_use.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>

namespace thrum::rt {
namespace {

using namespace poll_words;

// Under the timer's lock.
void deadline_came(timer_record& fired, M& m, std::int64_t) noexcept {
  auto& side = *static_cast<poll_side*>(fired.argument);
  side.deadline.store(poll_deadline_passed, seq_cst);  // step 1 of the waker in core/poll_desc.h
  if (G* const g = take_poll_waiter(side, m.sched.epoch)) ready(m, *g);
}

// Returns the direction's timer, and makes it if need be. nullptr: no memory.
timer_record* timer_of(poll_side& side) noexcept {
  timer_record* has = side.timer.load(acquire);  // pairs with the exchange below
  if (has != nullptr) return has;
  runtime_mark const mark;
  timer_record* const made = take_timer_record(deadline_came, &side);
  if (made == nullptr || side.timer.compare_exchange(has, made, acq_rel, acquire)) return made;
  drop_reference(*made);
  return has;
}

// The caller has set the mark, has reserved room in the heap, and holds the timer's lock.
added_as arm(M& m, poll_side& side, timer_record& timer, std::int64_t when_ns) noexcept {
  side.armed_in.store(m.sched.epoch, relaxed);
  return m.p->timers.arm(timer, std::min(when_ns, latest_ns), m.sched.epoch);
}

// For a deadline that was set outside of any run, or in an earlier run. Returns false if there is no memory.
bool watch_deadline(M& m, poll_side& side) noexcept {
  // Both are relaxed, because a thread that sets a deadline meanwhile arms the timer itself
  if (side.deadline.load(relaxed) <= 0 || side.armed_in.load(relaxed) == m.sched.epoch) return true;
  if (!m.p->timers.reserve(1)) return false;
  auto place = added_as::later;
  {
    timer_record& timer = *side.timer.load(acquire);  // pairs with timer_of
    os::lock_guard const guard(timer.lock);
    std::int64_t const when_ns = side.deadline.load(relaxed);
    if (when_ns > 0 && side.armed_in.load(relaxed) != m.sched.epoch) place = arm(m, side, timer, when_ns);
  }
  timer_was_added(m, place);
  return true;
}

struct arrival {
  poll_side& side;
  poll_word announced;
};

void commit_poll_wait(M& m, G& left, void* argument) noexcept {
  auto& its = *static_cast<arrival*>(argument);
  poll_side& side = its.side;
  poll_word expected = its.announced;
  side.epoch.store(m.sched.epoch, relaxed);  // written before the goroutine can be found in the word
  os::chaos_point("poll_wait.parks");
  // From here on the goroutine may run, and its frame, with `its` in it, may be gone.
  if (!side.word.compare_exchange(expected, with(expected, naming(left)), seq_cst, relaxed)) ready(m, left);
}

// Step 1 of the waiter in core/poll_desc.h. Returns false if an event has come, and leaves it there.
bool announce(poll_side& side, [[maybe_unused]] std::uint32_t epoch, poll_word& announced) noexcept {
  poll_word seen = side.word.load(relaxed);
  do {
    if (payload(seen) == event_came) return false;
    // A goroutine that the word names here belongs to a run that is over.
    THRUM_DCHECK(payload(seen) == nothing || side.epoch.load(relaxed) != epoch);
    announced = with(seen, arriving);
  } while (!side.word.compare_exchange_weak(seen, announced, seq_cst, relaxed));
  return true;
}

}  // namespace

poll_outcome look_at_poll_side(poll_desc const& d, poll_side const& side) noexcept {
  if (is_closed(d)) return poll_outcome::closed;
  return side.deadline.load(seq_cst) == poll_deadline_passed ? poll_outcome::timed_out : poll_outcome::ready;
}

namespace {

// As docs/trace-format.md says.
std::uintptr_t name_for_traces(poll_desc const& d, poll_side_name which) noexcept {
  return 2 * static_cast<std::uintptr_t>(d.fd) + (which == poll_side_name::write ? 1 : 0);
}

M& enter_to_wait(uses_inside_run const& inside) {
  M* const m = inside.callers_m();
  if (m == nullptr)
    throw std::logic_error(std::string("thrum: a call on a descriptor would have to wait, but ") + why_no_runtime());
  enter_runtime(*m);
  // its run has ended and has left this goroutine behind
  if (m->sched.epoch != Sched::live_epoch.load(relaxed)) sleep_for_good(*m, wait_reason::io);
  return *m;
}

}  // namespace

void must_be_able_to_wait(uses_inside_run const& inside) { leave_runtime(enter_to_wait(inside)); }

poll_outcome wait_until_ready(poll_desc& d, poll_side_name which) {
  uses_inside_run const inside;
  M* m = &enter_to_wait(inside);
  Sched& s = m->sched;
  poll_side& side = d.side(which);
  if (!watch_deadline(*m, side)) {
    leave_runtime(*m);
    throw std::bad_alloc();
  }
  arrival its{side, 0};
  if (announce(side, s.epoch, its.announced)) {
    os::chaos_point("poll_wait.announced");
    poll_state::waiter const counts(s.poll);
    if (look_at_poll_side(d, side) == poll_outcome::ready) {
      m = &park(*m, wait_reason::io, commit_poll_wait, &its, commit_holds::nothing, name_for_traces(d, which));
    } else {
      // If this fails, a waker was here and has left an event, or nothing.
      static_cast<void>(side.word.compare_exchange(its.announced, with(its.announced, nothing), seq_cst, relaxed));
    }
  }
  leave_runtime(*m);
  return look_at_poll_side(d, side);
}

void see_old_deadline(poll_side& side, M* m) noexcept {
  timer_record* const timer = side.timer.load(acquire);  // pairs with timer_of
  if (timer == nullptr) return;
  {
    timer_guard const guard(*timer);
    std::int64_t const when_ns = side.deadline.load(relaxed);
    if (when_ns > 0 && when_ns <= timer_clock_ns()) side.deadline.store(poll_deadline_passed, seq_cst);
  }
  if (m == nullptr || side.deadline.load(relaxed) <= 0) return;  // relaxed: see watch_deadline
  if (!enter_if_alive(*m)) return;
  static_cast<void>(watch_deadline(*m, side));  // if it fails, a goroutine that waits tries again
  leave_runtime(*m);
}

bool set_poll_deadline(poll_desc& d, poll_side_name which, std::int64_t when_ns) noexcept {
  poll_side& side = d.side(which);
  if (when_ns == no_poll_deadline && side.deadline.load(relaxed) == no_poll_deadline) return true;
  uses_inside_run inside;
  timer_record* const timer = timer_of(side);
  if (timer == nullptr) return false;
  M* m = inside.callers_m();
  if (m != nullptr && !enter_if_alive(*m)) m = nullptr;
  if (m != nullptr && !m->p->timers.reserve(1)) {
    leave_runtime(*m);
    return false;
  }
  G* late = nullptr;
  auto place = added_as::later;
  {
    os::lock_guard const guard(timer->lock);
    bool const has_passed = when_ns != no_poll_deadline && when_ns <= timer_clock_ns();
    side.deadline.store(has_passed ? poll_deadline_passed : when_ns, seq_cst);
    side.armed_in.store(0, relaxed);
    if (has_passed || when_ns == no_poll_deadline || m == nullptr) {
      // this also stops a timer that was set for another moment in a run that has just begun
      static_cast<void>(stop_locked(*timer));
    } else {
      place = arm(*m, side, *timer, when_ns);
    }
    if (has_passed && m != nullptr) late = take_poll_waiter(side, m->sched.epoch);
  }
  if (m == nullptr) {  // a goroutine of a run that has begun meanwhile may wait by the old deadline
    inside.end();
    return callers_m() == nullptr || set_poll_deadline(d, which, when_ns);
  }
  timer_was_added(*m, place);
  if (late != nullptr) ready(*m, *late);
  leave_runtime(*m);
  return true;
}

void forget_poll_deadlines(poll_desc& d) noexcept {
  for (poll_side& side : d.sides) {
    timer_record* const timer = side.timer.load(acquire);  // pairs with timer_of
    if (timer == nullptr || side.armed_in.load(relaxed) == 0) continue;
    timer_guard const guard(*timer);
    static_cast<void>(stop_locked(*timer));
  }
}

void wake_poll_waiters(poll_desc& d) noexcept {
  uses_inside_run const inside;
  for (poll_side& side : d.sides) {
    // The word is read only once, because an arriving goroutine could be put into it between two reads.
    poll_word const seen = payload(side.word.load(seq_cst));
    if (seen == nothing || seen == event_came) continue;
    M* const m = inside.callers_m();
    if (m == nullptr || !enter_if_alive(*m)) return;  // no run is alive, so no goroutine waits that could go on
    if (G* const g = take_poll_waiter(side, m->sched.epoch)) ready(*m, *g);
    leave_runtime(*m);
  }
}

}  // namespace thrum::rt
