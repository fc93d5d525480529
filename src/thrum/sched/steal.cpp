#include "sched/steal.h"

#include "base/ablation.h"
#include "base/heuristics.h"
#include "core/trace.h"
#include "os/clock.h"
#include "sched/queues.h"
#include "sched/timers.h"

#include <algorithm>

namespace thrum::rt {
namespace {

// age_to_steal_ns is how long a goroutine that has just been readied is left to its P, if it is in runnext or alone in
// the run queue. The P usually comes to it within a microsecond, with a warm cache, and two Ps that take a few quick
// goroutines from each other are slower than one P that runs them all. (Go sleeps 3 us before it takes runnext, and the
// kernel makes 50 us of that. Go takes a lone goroutine at once.) Stolen goroutines should keep the thief busy for
// longer than worth_stealing_ns. After some steals in a row that did not, the thief leaves alone what is no more than a
// handful, unless it stays where it is. Such goroutines are quick, and the P on which they were readied will come to
// them.
struct glimpse {
  entry next;
  std::uint32_t waiting;
  std::uint64_t switches;  // grows with every goroutine that runs there

  static glimpse of(P const& p) noexcept { return {p.queue.peek_next(), p.queue.size(), p.counters.switches()}; }
  friend bool operator==(glimpse const&, glimpse const&) = default;
};

// Waits until what the victim has is old enough. False: the victim has moved on meanwhile. There are two looks and none
// in between, because each look takes the cache lines of its queue away from the victim.
bool stays_as_it_is(P const& victim, glimpse const& seen) noexcept {
  if (!applies(heuristic::age_to_steal)) return true;
  std::int64_t const until_ns = os::monotonic_ns() + age_to_steal_ns;
  do {
    cpu_relax();
  } while (os::monotonic_ns() < until_ns);
  return glimpse::of(victim) == seen;
}

// Takes half of the victim's run queue. In the last round it also takes a handful or less, runnext included, if that
// stays where it is.
entry steal_from(P& victim, P& thief, std::uint32_t little, bool is_last_round) noexcept {
  glimpse const seen = glimpse::of(victim);
  if (seen.waiting > little) return thief.queue.steal_half_from(victim.queue);
  if (!is_last_round || (seen.waiting == 0 && !seen.next) || !stays_as_it_is(victim, seen)) return {};
  if (entry const e = thief.queue.steal_half_from(victim.queue)) return e;
  return seen.next && victim.queue.steal_next(seen.next) ? seen.next : entry();
}

void judge_last_steal(M& m) noexcept {
  if (m.stole_at_ns == 0) return;
  bool const was_poor = os::monotonic_ns() - m.stole_at_ns < worth_stealing_ns;
  m.poor_steals = was_poor ? std::min(m.poor_steals + 1, poor_steals_max) : 0;
  m.stole_at_ns = 0;
}

// Runs the timers that are due on the victim, whether it is busy or idle. The goroutines that become runnable go to m's
// own P.
entry steal_due_timers(M& m, P& victim) noexcept {
  if (!victim.timers.any()) return {};
  std::int64_t const now_ns = timer_clock_ns();
  if (victim.timers.next_when() > now_ns) return {};
  run_due_timers(m, victim, now_ns);
  entry const next = m.p->queue.take_next();
  return next ? next : m.p->queue.pop();
}

}  // namespace

search_result steal_work(M& m) noexcept {
  Sched& s = m.sched;
  P& p = *m.p;
  judge_last_steal(m);
  std::uint32_t const little = applies(heuristic::poor_steals) && m.poor_steals == poor_steals_max ? steal_handful : 1;
  for (int round = 1; round <= steal_rounds; ++round) {
    auto const random = static_cast<std::uint32_t>(p.random.next() >> 33U);
    for (random_order order(s.steal_steps, random); !order.done(); order.advance()) {
      P& victim = *s.procs[order.position()];
      if (&victim == &p) continue;
      if (p.attention.load(relaxed) != 0) return {};
      bool const is_last_round = round == steal_rounds;
      if (is_last_round) {
        if (entry const due = steal_due_timers(m, victim)) return {due.g(), false};
      }
      entry const e = steal_from(victim, p, little, is_last_round);
      if (!e) continue;
      m.stole_at_ns = os::monotonic_ns();
      trace::steals(p, victim, 1 + p.queue.size());
      count(p.counters.steals);
      count(p.counters.stolen, 1 + p.queue.size());
      if (G* const g = take_over(p, e)) return {g, false};
      // The goroutine to run had been joined in place. The others of the batch are in the thief's run queue.
      while (entry const other = p.queue.pop()) {
        if (G* const g = take_over(p, other)) return {g, false};
      }
    }
  }
  return {};
}

}  // namespace thrum::rt
