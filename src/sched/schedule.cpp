#include "sched/schedule.h"

#include "sched/home.h"
#include "sched/own_thread.h"
#include "sched/stack_wait.h"
#include "sched/suspend.h"
#include "sched/threads.h"
#include "sched/timekeeper.h"

#include <utility>

namespace thrum::rt {
namespace {

found take_handed(M& m) noexcept {
  found const handed{m.handed, m.handed_inherits};
  m.handed = nullptr;
  return handed;
}

}  // namespace

void execute(M& m, found next) noexcept {
  G& g = *next.g;
  if (g.on == nullptr && !bind_stack(*m.p, g)) {
    wait_for_stack(m, g);
    return;
  }
  begin_run(m, next);
  switch_context(m.g0, g.saved, departure::comes_back);
  arrive();
}

void schedule_until_end(M& m) noexcept {
  enter(m);
  for (;;) {
    if (m.ends_with_goroutine) return give_up_own_thread(m);
    if (m.stands_in && m.p != nullptr && m.brought == nullptr) [[unlikely]]
      stand_back(m);
    if (m.p == nullptr && !stop_m(m)) return;  // its P went with a system call, or to another thread
    found next = take_handed(m);
    if (next.g == nullptr) next = find_runnable(m);
    if (next.g == nullptr) return;
    pay_owed_watch(m);
    if (M const* const its = next.g->locked_to; its == nullptr || its == &m) {
      execute(m, next);
    } else {
      give_p_to_thread_of(*std::exchange(m.p, nullptr), *next.g);  // it goes on only on its own thread
    }
  }
}

}  // namespace thrum::rt
