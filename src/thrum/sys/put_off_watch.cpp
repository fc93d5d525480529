#include "sys/put_off_watch.h"

#include "base/ablation.h"
#include "base/heuristics.h"
#include "os/clock.h"
#include "sched/wake.h"
#include "sched/watch.h"

#include <algorithm>
#include <utility>

namespace thrum::rt {

using namespace late_wakeups;

void put_off_watch::look(std::int64_t now_ns) noexcept {
  count(sched_.sysmon.looks);
  came_soon_ = std::exchange(is_sighted_, false);
  is_active_ = false;
  anything_waits_ = false;
  has_idle_p_ = sched_.idle.count() != 0;  // relaxed: a later change is seen at the next look
  bool const timer_was_left_by_mistake = look_at_timers(now_ns);
  for (P* const p : sched_.procs) look_at(*p, p->seen.put_off, timer_was_left_by_mistake);
  if (!anything_waits_) in_vain_ = 0;
  is_kept_awake_ = keeps_awake(now_ns);
  if (!is_active_) {
    patience_ = std::max(patience_ - 1, 0);
  } else if (now_ns - std::exchange(active_at_ns_, now_ns) <= soon_after_ns && applies(heuristic::soon_after)) {
    patience_ = std::min(patience_ + patience_gained, patience_max);
  }
}

namespace {

// Whether p runs another goroutine within a moment. Waiting for that moment costs less than another sleep.
bool makes_progress(P const& p, std::uint64_t runs) noexcept {
  if (!applies(heuristic::moment)) return false;
  for (std::int64_t const until_ns = os::monotonic_ns() + moment_ns; os::monotonic_ns() < until_ns;) {
    cpu_relax();
    if (p.counters.runs() != runs) return true;
  }
  return false;
}

}  // namespace

// An M that has just set a timer is often on its way to watch it itself. So a timer counts as unwatched only if it is
// so at two looks.
bool put_off_watch::look_at_timers(std::int64_t now_ns) noexcept {
  bool const all_idle = sched_.idle.all_idle();
  std::int64_t unwatched_ns = earliest_unwatched_timer(sched_);
  if (unwatched_ns != never_ns && is_far_off(sched_, unwatched_ns, now_ns) && !all_idle) {
    left_to_us_ns_ = std::exchange(unwatched_ns, never_ns);  // it need not be watched yet
  }
  bool const is_unwatched = unwatched_ns != never_ns && unwatched_ns == unwatched_ns_;
  unwatched_ns_ = unwatched_ns;
  if (unwatched_ns != never_ns) {
    is_sighted_ = true;
    anything_waits_ = true;
  }
  if (is_unwatched) {
    wake([this] { return ensure_timers_are_watched(sched_); });
  }
  return is_unwatched && unwatched_ns != left_to_us_ns_;
}

void put_off_watch::look_at(P& p, sighting& seen, bool timer_was_left_by_mistake) noexcept {
  entry_bits const next = p.queue.peek_next().bits();
  bool const queue_waits = p.queue.size() != 0;
  std::uint32_t const queue_taken = p.queue.taken();
  std::uint64_t const runs = p.counters.runs();
  std::uint64_t const put_off = p.counters.put_off.load(relaxed);
  bool const still = runs == seen.runs;
  bool const next_waits = has_idle_p_ && next != 0;
  bool const next_stands = next_waits && still && next == seen.next;
  anything_waits_ = anything_waits_ || next_waits || (has_idle_p_ && queue_waits);
  // This holds whatever else runs on the P, because two goroutines that ready each other may do so for a whole slice.
  bool const queue_stands = has_idle_p_ && queue_waits && seen.queue_waits && queue_taken == seen.queue_taken;
  bool const queue_is_left = queue_stands && sched_.idle.spinning() == 0;  // if an M spins, it is on its way
  if (p.has_put_off.load(relaxed)) {
    // a wake-up that is put off at this moment may be overlooked here; anything_waits finds it
    p.has_put_off.store(false, relaxed);
    is_active_ = is_active_ || has_idle_p_;
  }
  // A P that has another goroutine in runnext at a second look makes progress, so the usual pace is enough.
  bool const next_is_new = next_waits && !next_stands && !came_soon_;
  is_sighted_ = is_sighted_ || (queue_stands && !queue_is_left) ||
                (has_idle_p_ && still && queue_waits && !queue_stands) || (next_is_new && !makes_progress(p, runs));
  news_.all_still = news_.all_still && still;
  news_.puts_off = news_.puts_off || put_off != seen.put_off;
  // an entry that was acted upon must be seen twice before sysmon acts upon it once more
  seen.next = next_stands ? 0 : next;
  seen.queue_waits = queue_waits;
  seen.queue_taken = queue_taken;
  seen.runs = runs;
  seen.put_off = put_off;
  if (next_stands || (still && timer_was_left_by_mistake)) learn_from_mistake(p, seen);
  if (queue_is_left && applies(heuristic::spreads_at_once))
    p.spreads_at_once.store(spreads_at_once_after_slow_event, relaxed);
  if (next_stands || queue_is_left) {
    wake([this] {
      start_m_if_p_is_idle(sched_);
      return false;
    });
  }
}

template <class Wake>
void put_off_watch::wake(Wake wake_an_m) noexcept {
  std::int32_t const idle_before = sched_.idle.count();
  bool const no_m_searched = sched_.idle.spinning() == 0;
  bool const has_acted = wake_an_m();  // for example by rousing the timekeeper, which changes none of these numbers
  bool const is_in_vain = !has_acted && no_m_searched && idle_before != 0 && sched_.idle.count() >= idle_before &&
                          sched_.idle.spinning() == 0;
  in_vain_ = is_in_vain ? std::min(in_vain_ + 1, in_vain_max) : 0;
}

void put_off_watch::learn_from_mistake(P& p, sighting& seen) const noexcept {
  if (!applies(heuristic::wakes_at_once)) return;
  std::uint64_t const readies = p.counters.readies.load(relaxed);
  bool const is_rare = applies(heuristic::rare_after) ? readies - seen.readies_at_mistake > rare_after * seen.at_once
                                                      : seen.at_once == 0;
  seen.at_once = is_rare ? at_once_first : std::min(seen.at_once * 2, at_once_max);
  seen.readies_at_mistake = readies;
  p.wakes_at_once.store(seen.at_once, relaxed);
}

// Step 3 of sysmon's column in the second table of sched/wake.h.
bool put_off_watch::anything_waits() const noexcept {
  if (!sched_.idle.any_idle()) return false;
  for (P const* const p : sched_.procs) {
    if (!p->queue.looks_empty()) return true;
  }
  std::int64_t const unwatched_ns = earliest_unwatched_timer(sched_);
  return unwatched_ns != never_ns && !is_far_off(sched_, unwatched_ns, os::monotonic_ns());
}

std::int64_t put_off_watch::nap_ns(std::int64_t limit_ns) noexcept {
  bool const ends_soon = limit_ns >= 0 && limit_ns <= pace_ns;
  if (!ends_soon && !is_sighted_ && patience_ == 0 && !is_kept_awake_) {
    sched_.watch.ask_for_nudge();
    store_load_fence();
    if (!anything_waits()) return limit_ns;
    is_sighted_ = true;
  }
  sched_.watch.need_no_nudge();
  std::int64_t const most_ns =
      is_sighted_ && in_vain_ == 0 && applies(heuristic::second_look) ? second_look_ns : pace_ns << in_vain_;
  return limit_ns < 0 ? most_ns : std::min(limit_ns, most_ns);
}

put_off_watch::news put_off_watch::take_news() noexcept { return std::exchange(news_, {}); }

}  // namespace thrum::rt
