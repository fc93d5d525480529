// after_func (Go's time.AfterFunc): a timer that starts a goroutine.
#include "wait/after_func.h"

#include "core/current.h"
#include "sched/runnable.h"
#include "sched/timekeeper.h"
#include "sched/timers.h"
#include <thrum/detail/func_timer.h>

#include <new>
#include <stdexcept>
#include <utility>

namespace thrum::detail {
namespace {

using namespace rt;

// Under the timer's lock. The goroutine takes over the reference of the pending call. The goroutine may have ended when
// this returns, so the state is not touched once the goroutine is in the queue.
void start_call(timer_record& fired, M& m, std::int64_t) noexcept {
  auto& s = *static_cast<func_timer_state*>(fired.argument);
  G& g = G::of(*std::exchange(s.prepared, nullptr));
  s.is_pending = false;
  make_unstarted_runnable_by_timer(m, g);
}

func_timer_state& state_of(task& its_goroutine) noexcept {
  return **std::launder(reinterpret_cast<func_timer_state**>(its_goroutine.storage));
}

// Under the timer's lock. A goroutine that was prepared in a run that is over is left to that run.
bool has_goroutine_of(func_timer_state const& s, std::uint32_t epoch) noexcept {
  return s.prepared != nullptr && s.prepared_in == epoch;
}

// Under the timer's lock. Returns what the new setting replaced.
func_timer_was set_locked(func_timer_state& s, M& m, std::int64_t ns, added_as& place) noexcept {
  timer_record& r = *s.timer;
  if (!has_goroutine_of(s, m.sched.epoch)) return func_timer_was::without_goroutine;
  if (!std::exchange(s.is_pending, true)) s.references.fetch_add(1U, relaxed);  // relaxed: the caller holds a reference
  if (ns > 0) {
    bool const was_armed = r.armed_in == m.sched.epoch;
    place = m.p->timers.arm(r, time_after(timer_clock_ns(), ns), m.sched.epoch);
    return was_armed ? func_timer_was::pending : func_timer_was::idle;
  }
  bool const was_armed = stop_locked(r);
  start_call(r, m, 0);
  return was_armed ? func_timer_was::pending : func_timer_was::idle;
}

}  // namespace

void make_func_timer(func_timer_state& s) { s.timer = &new_timer(start_call, &s); }

void retain_func_timer(func_timer_state& s) noexcept {
  s.references.fetch_add(1U, relaxed);  // relaxed: the caller has a reference
}

void release_func_timer(func_timer_state& s) noexcept {
  // acq_rel: what other threads did with the state is over before it is destroyed
  if (s.references.fetch_sub(1U, acq_rel) != 1) return;
  if (s.prepared != nullptr) recycle_task(*s.prepared, s.prepared_in);
  if (s.timer != nullptr) end_timer(*s.timer);
  s.destroy(s);
}

bool stop_func_timer(func_timer_state& s) noexcept {
  bool was_armed = false;
  bool was_pending = false;
  {
    timer_guard const guard(*s.timer);
    was_armed = stop_locked(*s.timer);
    was_pending = std::exchange(s.is_pending, false);  // this may also be a call whose run ended before its time came
  }
  if (was_pending) release_func_timer(s);  // this is never the last reference, because the caller has a handle
  return was_armed;
}

bool needs_goroutine(func_timer_state& s) noexcept {
  timer_guard const guard(*s.timer);
  return !has_goroutine_of(s, Sched::live_epoch.load(relaxed));
}

func_timer_was set_func_timer(func_timer_state& s, std::int64_t ns, task* fresh) {
  M* const m = callers_m();
  if (m == nullptr || !enter_if_alive(*m)) {
    if (fresh != nullptr) discard_task(*fresh);
    throw std::logic_error(
        "thrum: after_func and reset: no runtime is alive: call them inside thrum::run or while a thrum::runtime "
        "exists");
  }
  if (fresh != nullptr && G::of(*fresh).is_orphan()) fresh = nullptr;  // it was made in a run that has ended since
  if (!m->p->timers.reserve(1)) {
    leave_runtime(*m);
    if (fresh != nullptr) discard_task(*fresh);
    throw std::bad_alloc();
  }
  auto place = added_as::later;
  func_timer_was before{};
  {
    os::lock_guard const guard(s.timer->lock);
    if (fresh != nullptr && !has_goroutine_of(s, m->sched.epoch)) {
      s.prepared = std::exchange(fresh, nullptr);
      let_run_go(*m);  // ends what new_task began
      s.prepared_in = m->sched.epoch;
    }
    before = set_locked(s, *m, ns, place);
  }
  timer_was_added(*m, place);
  leave_runtime(*m);
  if (fresh != nullptr) discard_task(*fresh);  // another setting has brought a goroutine
  return before;
}

void run_func_timer(task& self, task_step) {
  struct releaser {
    func_timer_state& s;
    ~releaser() { release_func_timer(s); }
  } const at_end{state_of(self)};
  at_end.s.call(at_end.s);
}

}  // namespace thrum::detail

namespace thrum::rt {

void end_with_its_run(timer_record& r) noexcept {
  detail::func_timer_state* pending = nullptr;
  {
    os::lock_guard const guard(r.lock);
    bool const was_armed = std::exchange(r.armed_in, 0U) != 0;
    if (was_armed && r.fire == detail::start_call) {  // it is armed, so the state exists and its call is pending
      pending = static_cast<detail::func_timer_state*>(r.argument);
      pending->is_pending = false;
    }
  }
  drop_reference(r);
  if (pending != nullptr) detail::release_func_timer(*pending);
}

void end_with_its_run(G& unstarted) noexcept {
  if (unstarted.task.step == detail::run_func_timer) detail::release_func_timer(detail::state_of(unstarted.task));
}

}  // namespace thrum::rt
