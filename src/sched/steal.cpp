// Stealing (S12): from the head of a random victim's ring, half at a time.
#include "os/clock.h"
#include "sched/queues.h"
#include "sched/schedule.h"
#include "sched/timers.h"

namespace thrum::rt {
namespace {

// How long a goroutine in runnext is left to the P that has just readied it. Its readier usually blocks within a
// microsecond and then runs it with a warm cache; Go sleeps 3 us here, which the kernel makes 50.
constexpr std::int64_t runnext_age_ns = 2'000;

// Watches the victim's runnext until it is old enough to be taken; gives way at once when it changes.
entry steal_aged_next(P& victim) noexcept {
  entry const seen = victim.queue.peek_next();
  if (!seen) return {};
  std::uint32_t const tick = victim.schedtick.load(relaxed);  // relaxed: a changed tick only means "leave it"
  std::int64_t const until_ns = os::monotonic_ns() + runnext_age_ns;
  do {
    cpu_relax();
    if (victim.queue.peek_next() != seen || victim.schedtick.load(relaxed) != tick) return {};
  } while (os::monotonic_ns() < until_ns);
  return victim.queue.steal_next(seen) ? seen : entry();
}

// Runs what is due on the victim, busy or idle; what becomes runnable is ours.
entry steal_due_timers(M& m, P& victim) noexcept {
  if (!victim.timers.any()) return {};
  std::int64_t const now_ns = timer_clock_ns();
  if (victim.timers.next_when() > now_ns) return {};
  run_due_timers(m, victim, now_ns);
  entry const next = m.p->queue.take_next();
  return next ? next : m.p->queue.pop();
}

}  // namespace

found steal_work(M& m) noexcept {
  Sched& s = m.sched;
  P& p = *m.p;
  for (int round = 1; round <= steal_rounds; ++round) {
    auto const random = static_cast<std::uint32_t>(p.random.next() >> 33U);
    for (random_order order(s.steal_steps, random); !order.done(); order.advance()) {
      P& victim = *s.procs[order.position()];
      if (&victim == &p) continue;
      if (p.attention.load(relaxed) != 0) return {};
      entry e = p.queue.steal_half_from(victim.queue);
      if (!e && round == steal_rounds) {
        if ((e = steal_due_timers(m, victim))) return {e.g(), false};
        e = steal_aged_next(victim);
      }
      if (!e) continue;
      count(p.counters.steals);
      count(p.counters.stolen, 1 + p.queue.size());
      if (G* const g = take_over(p, e)) return {g, false};
      // The one to run had been joined in place; the others of the batch are in our ring.
      while (entry const other = p.queue.pop()) {
        if (G* const g = take_over(p, other)) return {g, false};
      }
    }
  }
  return {};
}

}  // namespace thrum::rt
