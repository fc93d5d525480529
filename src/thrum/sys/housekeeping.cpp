#include "sys/housekeeping.h"

#include "base/ablation.h"
#include "base/heuristics.h"
#include "core/trace.h"
#include "os/chaos.h"
#include "os/thread.h"
#include "sched/deadlock.h"
#include "sched/stack_wait.h"

#include <algorithm>
#include <utility>

namespace thrum::rt {

using namespace keeping;

namespace {

// M0, one thread for each P, and one to spare.
std::int32_t threads_to_keep(Sched const& s) noexcept { return s.procs.size() + 2; }

void flush_idle_caches(Sched& s) noexcept {
  os::lock_guard const guard(s.lock);  // an idle P stays idle under the lock
  s.idle.for_each_idle([&](P& p) { p.stacks.flush(s.stacks); });
}

// If the options ask for stacks to be looked at more often, the ages of goroutines are noted as often.
std::int64_t between_ages_ns(Sched const& s) noexcept { return std::min(ages_every_ns, s.options.scavenge_after_ns); }

std::int64_t between_trims_ns(Sched const& s) noexcept { return std::min(trim_every_ns, s.options.scavenge_after_ns); }

std::uint64_t switches_of(Sched const& s) noexcept {
  std::uint64_t sum = 0;
  for (auto const& p : s.procs) sum += p->counters.switches();
  return sum;
}

}  // namespace

housekeeping::housekeeping(Sched& s, std::int64_t now_ns) noexcept
    : sched_(s),
      threads_due_ns_(now_ns + s.options.idle_thread_after_ns),
      stacks_due_ns_(now_ns + s.options.scavenge_after_ns),
      cpus_due_ns_(now_ns + cpus_every_ns),
      trim_due_ns_(now_ns + between_trims_ns(s)),
      parked_(s, parked_stacks::purpose::depths),
      ages_due_ns_(now_ns + between_ages_ns(s)),
      ages_(s, parked_stacks::purpose::ages) {}

void housekeeping::look(std::int64_t now_ns) noexcept {
  if (now_ns >= threads_due_ns_) {
    std::int64_t const soonest_ns = now_ns + sched_.options.idle_thread_after_ns / 2;
    threads_due_ns_ = std::min(let_surplus_go(now_ns), soonest_ns);
  }
  if (applies(heuristic::stack_trim) && (is_trimming_ || now_ns >= trim_due_ns_)) trim(now_ns);
  if (is_giving_back_ || is_looking_at_parked_ || now_ns >= stacks_due_ns_) scavenge(now_ns);
  if (is_noting_ages_ || now_ns >= ages_due_ns_) note_ages(now_ns);
  if (now_ns >= cpus_due_ns_ && !sched_.procs_by_hand.load(relaxed)) {
    cpus_due_ns_ = now_ns + cpus_every_ns;
    sched_.thread_maker.ask_to_follow_cpus();
  }
}

std::int64_t housekeeping::next_ns() noexcept {
  if (is_trimming_ || is_giving_back_ || is_looking_at_parked_ || is_noting_ages_) return 0;
  stack_stats const stacks = sched_.stacks.stats();
  bool const has_stacks = stacks.free != 0;
  os::lock_guard const guard(sched_.lock);
  // This is a hint. sysmon is notified when a P is taken into use.
  bool const has_caches =
      std::any_of(sched_.procs.begin(), sched_.procs.end(), [](auto const& p) { return p->stacks.count_hint() != 0; });
  bool const has_threads = sched_.ms.first_idle() != nullptr && sched_.ms.total() > threads_to_keep(sched_);
  bool const has_parked = quiet_looks_ < 2 || switches_of(sched_) != switches_;
  bool const has_ages = switches_of(sched_) != switches_at_ages_;
  return std::min({has_stacks || has_caches || has_parked ? stacks_due_ns_ : never_ns,
                   has_threads ? threads_due_ns_ : never_ns, has_ages ? ages_due_ns_ : never_ns,
                   applies(heuristic::stack_trim) && (stacks.untrimmed != 0 || has_caches) ? trim_due_ns_ : never_ns});
}

std::int64_t housekeeping::let_surplus_go(std::int64_t now_ns) noexcept {
  ms_to_end to_end;
  std::int64_t next_ns = never_ns;
  {
    os::lock_guard const guard(sched_.lock);
    if (sched_.end.has_begun()) return never_ns;
    std::int32_t surplus = sched_.ms.total() - threads_to_keep(sched_);
    for (M* idle = sched_.ms.first_idle(); idle != nullptr && surplus > 0;) {
      M& m = *std::exchange(idle, m_pool::next_idle(*idle));
      std::int64_t const due_ns = m.idle_since_ns + sched_.options.idle_thread_after_ns;
      // acquire: pairs with the creation of the thread, which may not be complete yet
      if (due_ns > now_ns || !m.thread_exists.load(acquire)) {
        next_ns = std::min(next_ns, due_ns);
      } else if (!m.residents.any()) {  // otherwise goroutines will continue on this M: see sched/home.h
        sched_.ms.let_go(m);
        to_end.push(m);
        --surplus;
      }
    }
  }
  to_end.wake_all();
  return next_ns;
}

void housekeeping::note_ages(std::int64_t now_ns) noexcept {
  if (now_ns >= ages_due_ns_) {
    ages_due_ns_ = now_ns + between_ages_ns(sched_);
    // before the walk, because a goroutine that parks during the walk may be passed over
    switches_at_ages_ = switches_of(sched_);
    ages_.begin();
  }
  is_noting_ages_ = ages_.look_at_some();
}

namespace {

// Calls take_and_put_back(), which takes free stacks out of the pool and puts them back. A goroutine may find no stack
// while sysmon has a free one in its hands. The goroutine was counted as waiting before it looked. Afterwards the stack
// is in the pool.
template <class F>
std::size_t with_free_stacks(Sched& s, F take_and_put_back) noexcept {
  std::size_t result = 0;
  {
    stack_waiters::helper const helps(s.stack_waiters);
    result = take_and_put_back();
    os::chaos_point("housekeeping.put_back");
    store_load_fence();
    if (s.stack_waiters.any()) start_stack_waiters(s);
  }
  // An M may have come to rest meanwhile and left a deadlock unreported because of this helper. Either that M does not
  // see the helper any more (stack_waiters::are_helped), or the goroutine that waits is seen here.
  store_load_fence();
  if (s.stack_waiters.any()) {
    os::lock_guard const guard(s.lock);
    check_deadlock_locked(s);
  }
  return result;
}

}  // namespace

void housekeeping::trim(std::int64_t now_ns) noexcept {
  if (now_ns >= trim_due_ns_) {
    trim_due_ns_ = now_ns + between_trims_ns(sched_);
    sched_.trim_rounds.fetch_add(1U, relaxed);  // a hint to the busy Ps
    flush_idle_caches(sched_);
    sched_.stacks.begin_trim();
  }
  std::size_t const trimmed = with_free_stacks(sched_, [&] { return sched_.stacks.trim(stacks_per_look); });
  if (trimmed != 0) trace::happened(sched_, trace::kind::scavenge, trimmed);
  is_trimming_ = trimmed == stacks_per_look;
}

void housekeeping::scavenge(std::int64_t now_ns) noexcept {
  if (now_ns >= stacks_due_ns_) {
    stacks_due_ns_ = now_ns + sched_.options.scavenge_after_ns;
    flush_idle_caches(sched_);
    sched_.stacks.condemn_idle();
    parked_.begin();
    is_looking_at_parked_ = true;
    std::uint64_t const now = switches_of(sched_);
    quiet_looks_ = now == switches_ ? quiet_looks_ + 1 : 0;
    switches_ = now;
  }
  if (is_looking_at_parked_) is_looking_at_parked_ = parked_.look_at_some();
  std::size_t const given_back = with_free_stacks(sched_, [&] { return sched_.stacks.give_back(stacks_per_look); });
  if (given_back != 0) trace::happened(sched_, trace::kind::scavenge, given_back);
  is_giving_back_ = given_back == stacks_per_look;
}

}  // namespace thrum::rt
