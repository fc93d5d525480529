#include "sched/find_runnable.h"

#include "base/ablation.h"
#include "base/check.h"
#include "base/heuristics.h"
#include "core/trace.h"
#include "os/chaos.h"
#include "os/clock.h"
#include "os/unknown_child.h"
#include "sched/home.h"
#include "sched/pick.h"
#include "sched/poll.h"
#include "sched/queues.h"
#include "sched/requests.h"
#include "sched/runnable.h"
#include "sched/stack_wait.h"
#include "sched/steal.h"
#include "sched/threads.h"
#include "sched/timers.h"
#include "sched/wake.h"
#include "sched/world.h"

#include <algorithm>

namespace thrum::rt {
namespace {

// At every 61st tick the global queue has its turn before the run queue, with one entry: a goroutine, or an M that
// wants a P. Otherwise two goroutines that keep readying each other would hold the P for ever.
search_result take_turn_of_global(Sched& s, P& p) noexcept {
  while (p.ticks_to_global == 0 && s.global_size.load(relaxed) != 0) {  // relaxed: only a hint, decided under the lock
    s.lock.acquire();
    global_turn const turn = take_global_one_locked(s, p);
    s.lock.release();
    if (!turn || turn.wants_p != nullptr) return {.wants_p = turn.wants_p};
    if (G* const g = take_over(p, turn.plain)) return {g};
  }
  return {};
}

search_result take_global_batch(Sched& s, P& p) noexcept {
  while (s.global_size.load(relaxed) != 0) {
    global_turn const turn = take_from_global(p);
    if (!turn || turn.wants_p != nullptr) return {.wants_p = turn.wants_p};
    if (G* const g = take_over(p, turn.plain)) return {g};
    if (search_result const local = take_local(p)) return {local.g};
  }
  return {};
}

// Returns `next`. If that is a goroutine, it runs before the goroutines in p's run queue, so those are published to
// other Ms.
search_result publish_what_waits_behind(P& p, search_result next) noexcept {
  if (next) publish_what_waits(p);
  return next;
}

// Polls without blocking. A sample of the polls is measured for stats::polls_took.
void poll_now(Sched& s, P& p, g_list& runnable) noexcept {
  bool const is_timed = p.counters.polls.load(relaxed) % one_in::polls == 0;
  std::int64_t const began_ns = is_timed ? os::monotonic_ns() : 0;
  count(p.counters.polls);
  look_at_poll(s, runnable);
  if (is_timed) p.polls_took.add(os::monotonic_ns() - began_ns);
}

// Polls the network without blocking. Each poll costs a system call, so if four polls in a row were empty, this M polls
// only on every eighth search of the row. No event is missed, because an M that finds no work rests, and the timekeeper
// blocks in the poller.
search_result take_polled(Sched& s, M& m) noexcept {
  if (!s.poll.is_worth_a_look()) return {};
  if (applies(heuristic::sparse_polls) && m.polls_in_vain >= polls_in_vain_max &&
      ++m.polls_in_vain % searches_per_poll != 0)
    return {};
  g_list runnable;
  poll_now(s, *m.p, runnable);
  if (runnable.empty()) {
    if (m.polls_in_vain < polls_in_vain_max) ++m.polls_in_vain;  // from then on each search is counted above
    return {};
  }
  m.polls_in_vain = 0;
  run_polled(m, runnable);
  search_result const resident = publish_what_waits_behind(*m.p, take_at_home(m));
  return resident ? resident : take_local(*m.p);
}

// A goroutine that made way for others and came here with the P (sched/make_way.h). If the P has other requests to
// serve, the goroutine waits for its turn in the global queue.
search_result take_brought(M& m) noexcept {
  G* const g = m_pool::take_brought(m);
  if (g == nullptr || m.p->attention.load(relaxed) == 0) return {g};
  make_runnable(m, *g, queue_place::global);
  return {};
}

// The number of Ms that search is limited to half of the busy Ps, rounded up, because more Ms would only compete for
// the same few queues. With a single P there is no P to steal from, and its M has looked at everything else.
bool may_spin(Sched const& s) noexcept {
  return s.procs.size() > 1 &&
         (!applies(heuristic::spin_limit) || 2 * s.idle.spinning() < s.procs.size() - s.idle.count());
}

// Adds the time that m has spent on this search to its P's counter. Called before m gives the P up, or when it has
// found something.
void account_for_spinning(M& m) noexcept {
  count(m.p->counters.spinning_ns, static_cast<std::uint64_t>(os::monotonic_ns() - m.spins_since_ns));
  m.spins_since_ns = 0;
}

void note_that_search_begins(M& m) noexcept {
  if (m.spins_since_ns != 0) return;
  m.spins_since_ns = os::monotonic_ns();
  trace::spins(m);
}

void begin_spinning(Sched& s, M& m) noexcept {
  s.idle.begin_spin(m);
  count(m.p->counters.spins);
}

// Going to sleep and being woken costs some microseconds on both sides, so it pays to search a little longer where work
// keeps turning up. A first look that finds something raises an M's patience to at least search_patience_first. Work
// found in the further looks doubles it, and a search that finds nothing halves it. So in an idle program an M soon
// looks once and sleeps.
search_result search_as_spinner(Sched& s, M& m) noexcept {
  bool const has_others = s.procs.size() > 1;  // with a single P there is no P to steal from
  search_result next = has_others ? steal_work(m) : search_result{};
  if (next) {
    m.patience = std::max(m.patience, search_patience_first);
    return next;
  }
  std::uint32_t const patience = applies(heuristic::search_patience) ? m.patience : 0;
  std::uint32_t const limit = patience / static_cast<std::uint32_t>(s.procs.size());
  for (std::uint32_t i = 0; i < limit && !next && m.p->attention.load(relaxed) == 0 && !m.residents.any_runnable();
       ++i) {
    cpu_relax();
    if (s.global_size.load(relaxed) != 0) {
      next = take_global_batch(s, *m.p);
    } else if (has_others) {
      next = steal_work(m);
    }
  }
  m.patience = next ? std::min(m.patience * 2, search_patience_max) : m.patience / 2;
  return next;
}

// An M that was spinning has found work. It was perhaps the only M that searched, and there may be more work, so the
// next M is woken to search.
void end_spinning_with_work(Sched& s, M& m) noexcept {
  account_for_spinning(m);
  s.idle.end_spin(m);
  trace::has_spun(m, trace::spin_detail::found_work);
  start_m_if_p_is_idle(s);
}

enum class last_look : std::uint8_t { look_again, rest, over };

// The check under the lock: whether the run is over, the global queue has got an entry, a resident of m is runnable, or
// a thread asks for a safe point of this P. That thread looks for idle Ps under the same lock, so either it finds this
// P idle, or its request is seen here. If none of these holds, the P is given up.
last_look give_up_p_unless_wanted(Sched& s, M& m) noexcept {
  os::lock_guard const guard(s.lock);
  if (s.end.has_begun()) return last_look::over;
  if (!s.global_queue.empty() || m.p->attention.load(relaxed) != 0) return last_look::look_again;
  if (m.residents.any_runnable()) return last_look::look_again;  // home.h, the table of residents, step 1
  s.idle.put(release_p(m));
  return last_look::rest;
}

// Steps 2 and 3 of the right column of the table of queues (wake.h): m has given its P up, so it checks every queue
// once more. True: there is work, so m has taken an idle P and searches.
bool takes_p_if_work_is_left(Sched& s, M& m) noexcept {
  bool const was_spinning = m.spinning;
  if (was_spinning) {
    s.idle.end_spin(m);
    trace::has_spun(m, trace::spin_detail::in_vain);
  }
  store_load_fence();  // pairs with the publishers' store-load
  if (!work_anywhere(s)) return false;
  // Another M searches. It will find the work, or come here itself. One more searching M would only exceed the limit.
  if (!was_spinning && !s.idle.none_spins()) return false;
  s.lock.acquire();
  P* const p = s.end.has_begun() ? nullptr : s.idle.take();
  s.lock.release();
  if (p == nullptr) return false;  // the M that has the P looks at everything before it sleeps
  acquire_p(m, *p);
  begin_spinning(s, m);
  return true;
}

}  // namespace

search_result find_runnable(M& m) noexcept {
  os::end_if_unknown_child();
  Sched& s = m.sched;
  for (;;) {
    trace::pass(s, trace::gate::search);
    P& p = *m.p;
    if (search_result const brought = take_brought(m)) return brought;
    if (std::uint32_t const wanted = p.attention.load(relaxed); wanted != 0) {
      if ((wanted & attend::stopping) != 0) return {};
      if ((wanted & attend::stop_world) != 0) {
        if (!stop_on_g0(m)) return {};
        continue;
      }
      if ((wanted & attend::give_up_stacks) != 0) give_up_cached_stacks(p);
      run_requested_function(p);
    }

    if (m.spinning) note_that_search_begins(m);  // it was started to search
    look_at_timers(m);
    search_result next = take_turn_of_global(s, p);
    if (s.pauses.are_too_many()) set_unstarted_aside(p);
    if (!next) next = take_at_home(m);
    next = publish_what_waits_behind(p, next);
    if (!next) next = take_local(p);
    if (!next) next = take_global_batch(s, p);
    if (!next) {
      if (p.pace.in_batch()) p.pace.end_batch(os::monotonic_ns(), p.counters.runs());
      next = take_polled(s, m);
    }
    if (!next && (m.spinning || may_spin(s))) {
      if (!m.spinning) begin_spinning(s, m);
      note_that_search_begins(m);
      trace::pass(s, trace::gate::steal);
      next = search_as_spinner(s, m);
    }
    if (next) {
      if (m.spinning) end_spinning_with_work(s, m);
      return next;
    }

    if (m.spinning) account_for_spinning(m);
    switch (give_up_p_unless_wanted(s, m)) {
      case last_look::over: return {};
      case last_look::look_again: continue;
      case last_look::rest: break;
    }
    os::chaos_point("find_runnable.gave_up");
    if (takes_p_if_work_is_left(s, m)) continue;
    if (!rest_until_p(m)) return {};
  }
}

}  // namespace thrum::rt
