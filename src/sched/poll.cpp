#include "sched/poll.h"

#include "core/poll_table.h"
#include "os/chaos.h"
#include "os/clock.h"
#include "os/thread.h"
#include "sched/queues.h"

#include <algorithm>

namespace thrum::rt {
namespace {

// Fetches what there is, for `timeout_ns` at most; whether the bell was among it.
bell fetch(Sched& s, std::int64_t timeout_ns, g_list& runnable) noexcept {
  os::poll_event events[os::poll_events_max];
  s.polls.fetch_add(1U, relaxed);  // relaxed: sysmon only looks whether it moves
  int const count = os::poll_wait(events, timeout_ns);
  os::chaos_point();
  g_list waiting;
  bell const rang = take_events(events, count, s.epoch, waiting);
  for (int i = 0; i < count; ++i) {
    if (events[i].what == os::poll_says::ring) s.cold_reads.take_answered(waiting);
  }
  while (G* const g = waiting.pop_front()) {
    g->end_wait();
    runnable.push_back(*g);
  }
  return rang;
}

}  // namespace

void look_at_poll(Sched& s, g_list& runnable) noexcept {
  if (fetch(s, 0, runnable) == bell::silent) return;
  if (s.in_poll.load(seq_cst) != 0) os::ring_poll_bell();  // it was meant for him: see poll.h
}

namespace {

// The bell rang for one of the others, who are all woken and on their way out: see poll.h.
void let_others_leave(M const& m) noexcept {
  Sched const& s = m.sched;
  os::ring_poll_bell();
  while (s.in_poll.load(seq_cst) > 1 && !m.park.is_woken()) os::yield_thread();
}

}  // namespace

poll_sleep sleep_in_poll(M& m, std::int64_t until_ns, g_list& runnable) noexcept {
  Sched& s = m.sched;
  s.in_poll.fetch_add(1, seq_cst);
  poll_sleep end{true, false};
  auto rang = bell::silent;
  if (m.park.begin_poll()) {
    for (;;) {
      std::int64_t timeout_ns = -1;
      if (until_ns != never_ns) timeout_ns = std::max<std::int64_t>(until_ns - os::monotonic_ns(), 0);
      rang = fetch(s, timeout_ns, runnable);
      end.time_has_come = until_ns != never_ns && (timeout_ns == 0 || os::monotonic_ns() >= until_ns);
      if (!runnable.empty() || end.time_has_come || m.park.is_woken()) break;
      if (rang == bell::rang && s.in_poll.load(seq_cst) > 1) let_others_leave(m);
    }
    end.woken = m.park.end_poll();
  }
  bool const others_are_there = s.in_poll.fetch_sub(1, seq_cst) > 1;
  if (rang == bell::rang && others_are_there) os::ring_poll_bell();  // two rings may have been one event
  return end;
}

void run_polled(M& m, g_list& runnable) noexcept {
  if (runnable.empty()) return;
  if (m.p == nullptr) {
    inject(m.sched, nullptr, runnable);
    return;
  }
  P& own = *m.p;
  count(own.counters.readies, runnable.size());
  put_tail(own, entry::runnable(*runnable.pop_front()));
  if (!runnable.empty()) inject(m.sched, &m, runnable);
}

}  // namespace thrum::rt
