#include "sched/poll.h"

#include "base/ablation.h"
#include "base/heuristics.h"
#include "core/poll_table.h"
#include "core/trace.h"
#include "os/chaos.h"
#include "os/clock.h"
#include "os/short_wait.h"
#include "sched/runnable.h"
#include "sched/wake.h"

#include <algorithm>

namespace thrum::rt {
namespace {

// Fetches the events that there are, waiting for at most `timeout_ns`. Returns whether a notification was among them.
poll_notified fetch(Sched& s, std::int64_t timeout_ns, g_list& runnable) noexcept {
  os::poll_event events[os::poll_events_max];
  s.poll.note_poll();
  int const count = os::poll_wait(events, timeout_ns);
  os::chaos_point("poll.fetched");
  g_list waiting;
  poll_notified const notified = take_events(events, count, s.epoch, waiting);
  for (int i = 0; i < count; ++i) {
    if (events[i].what == os::poll_says::uring) s.cold_reads.take_answered(waiting);
  }
  while (G* const g = waiting.pop_front()) {
    g->end_wait();
    trace::readied(s, *g, trace::ready_detail::tail);
    runnable.push_back(*g);
  }
  if (!runnable.empty()) trace::happened(s, trace::kind::poll, runnable.size());
  return notified;
}

}  // namespace

void look_at_poll(Sched& s, g_list& runnable) noexcept {
  if (fetch(s, 0, runnable) == poll_notified::no) return;
  if (s.poll.sleepers() != 0) os::notify_poller();  // it was meant for that M: see poll.h
}

namespace {

// The notification was for one of the other Ms in the poller, which are all woken and on their way out: see poll.h.
void let_others_leave(M const& m) noexcept {
  Sched const& s = m.sched;
  os::notify_poller();
  os::short_wait wait;
  while (s.poll.sleepers() > 1 && !m.wake_note.is_woken()) wait.pause();
}

}  // namespace

poll_sleep sleep_in_poll(M& m, std::int64_t until_ns, g_list& runnable) noexcept {
  Sched& s = m.sched;
  s.poll.enter();
  poll_sleep end{true, false};
  auto notified = poll_notified::no;
  if (m.wake_note.begin_poll()) {
    for (;;) {
      std::int64_t timeout_ns = -1;
      if (until_ns != never_ns) timeout_ns = std::max<std::int64_t>(until_ns - os::monotonic_ns(), 0);
      notified = fetch(s, timeout_ns, runnable);
      end.time_has_come = until_ns != never_ns && (timeout_ns == 0 || os::monotonic_ns() >= until_ns);
      if (!runnable.empty() || end.time_has_come || m.wake_note.is_woken()) break;
      if (notified == poll_notified::yes && s.poll.sleepers() > 1) let_others_leave(m);
    }
    end.woken = m.wake_note.end_poll();
  }
  bool const others_are_there = s.poll.leave() != 0;
  if (notified == poll_notified::yes && others_are_there)
    os::notify_poller();  // two notifications may have been one event
  return end;
}

namespace {

// Whether no P has to be woken for these events: see poll.h.
bool can_run_alone(M& m, std::uint32_t count_of_events, std::int64_t now_ns) noexcept {
  if (m.busy_since_ns == 0) m.busy_since_ns = now_ns;
  if (!applies(heuristic::few_events)) return false;
  return count_of_events <= m.p->queue.capacity() / 2 &&  // none of them may overflow into the global queue
         (!applies(heuristic::pace) || count_of_events * m.p->pace.run_ns() <= slow_run_ns) &&
         (!applies(heuristic::busy_since) || now_ns - m.busy_since_ns < not_enough_after_ns) &&
         may_put_off(m.p->spreads_at_once);
}

}  // namespace

void run_polled(M& m, g_list& runnable) noexcept {
  if (runnable.empty()) return;
  if (m.p == nullptr) {
    inject(m.sched, nullptr, runnable);
    return;
  }
  P& own = *m.p;
  count(own.counters.readies, runnable.size());
  if (runnable.size() == 1 || m.sched.procs.size() == 1) {
    search_batch all(m);
    while (G* const g = runnable.pop_front()) all.add(*g);
    return;
  }
  std::int64_t const now_ns = os::monotonic_ns();
  own.pace.begin_batch(now_ns, own.counters.runs());
  if (can_run_alone(m, runnable.size(), now_ns)) {
    count(own.counters.put_off);
    keep_on_own_p(m, runnable);
    return;
  }
  search_batch(m).add(*runnable.pop_front());
  inject(m.sched, &m, runnable);
}

}  // namespace thrum::rt
