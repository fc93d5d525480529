// Waiting for a goroutine with a time limit. The end of the child and the timer race for the child's join word. The one
// of them that takes the joiner out of the word wakes the joiner.
#include "core/current.h"
#include "core/forked.h"
#include "sched/park.h"
#include "sched/timekeeper.h"
#include "wait/wait_timer.h"
#include <thrum/detail/task.h>

#include <new>
#include <stdexcept>
#include <string>

namespace thrum {
namespace rt {
namespace {

// On the joiner's stack. The joiner does not leave this frame while the timer may fire.
struct limited_join {
  G& child;
  G& joiner;
  wait_timer limit;

  [[nodiscard]] std::uintptr_t as_waiter() const noexcept { return reinterpret_cast<std::uintptr_t>(&joiner); }
};

void give_up(timer_record& fired, M& m, std::int64_t) noexcept {
  auto& wait = *static_cast<limited_join*>(fired.argument);
  std::uintptr_t expected = wait.as_waiter();
  // relaxed: the commit step came before this, ordered by the record's lock, and nothing else is handed over
  if (wait.child.join.compare_exchange(expected, join_pending, relaxed, relaxed)) wake_late(fired, m, wait.joiner);
}

void commit_limited_join(M& m, G& left, void* argument) noexcept {
  auto& wait = *static_cast<limited_join*>(argument);
  added_as place{};
  bool is_finished = false;
  {
    // As soon as the word names the joiner, the joiner may be woken. But it cannot get past this lock.
    os::lock_guard const guard(wait.limit.lock());
    place = wait.limit.start(m);
    std::uintptr_t expected = join_pending;
    // release pairs with publish_finished's acquire: the joiner is parked. acquire on failure: the result is there
    is_finished = !wait.child.join.compare_exchange(expected, wait.as_waiter(), acq_rel, acquire);
  }
  if (is_finished) ready(m, left);
  timer_was_left(m, place);
}

}  // namespace
}  // namespace rt

namespace detail {

using namespace rt;

bool join_task_until(task& joined, std::int64_t deadline_ns) {
  if (task_finished(joined)) return true;
  G& child = G::of(joined);
  if (child.is_orphan())
    throw std::logic_error("thrum: join_for: the run of the goroutine ended before the goroutine did");
  M* m = callers_m();
  if (m == nullptr) throw std::logic_error(std::string("thrum: join_for would have to wait, but ") + why_no_runtime());
  enter_runtime(*m);
  G& joiner = *m->current;
  limited_join wait{child, joiner, {}};
  if (!wait.limit.prepare(*m, deadline_ns, give_up, &wait)) {
    leave_runtime(*m);
    throw std::bad_alloc();
  }
  m = &park(*m, wait_reason::join, commit_limited_join, &wait, commit_holds::nothing);
  bool const gave_up = wait.limit.finish(joiner);
  leave_runtime(*m);
  return !gave_up;
}

}  // namespace detail
}  // namespace thrum
