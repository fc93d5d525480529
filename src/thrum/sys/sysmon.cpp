#include "sys/sysmon.h"

#include "base/ablation.h"
#include "base/heuristics.h"
#include "core/trace.h"
#include "os/clock.h"
#include "os/lock.h"
#include "sched/poll.h"
#include "sched/runnable.h"
#include "sched/threads.h"
#include "sched/wake.h"
#include "sched/watch.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace thrum::rt {

using namespace watching;

namespace {

// The time from now until `when_ns`; at least the shortest pause.
std::int64_t until(std::int64_t when_ns, std::int64_t if_never_ns) noexcept {
  return when_ns == never_ns ? if_never_ns : std::max(when_ns - os::monotonic_ns(), pause_min_ns);
}

}  // namespace

sysmon::sysmon(Sched& s, trace_function trace)
    : sched_(s),
      trace_(trace),
      started_ns_(os::monotonic_ns()),
      next_trace_ns_(s.options.schedtrace_every_ns == 0 ? never_ns : started_ns_),
      pause_ns_(pause_min_ns),
      put_off_(s),
      slices_(s, reports_),
      housekeeping_(s, started_ns_),
      deadlock_(s),
      limit_(s) {
  ++s.own_threads;  // before the thread can look at it
  if (int const error = os::create_thread(thread_, thread_main, this, os::takes_signals::only_its_own)) {
    --s.own_threads;
    throw std::system_error(error, std::generic_category(), "thrum::run: cannot create sysmon's thread");
  }
  runs_ = true;
}

void sysmon::stop_looking() noexcept {
  if (!runs_) return;
  stopping_.store(true, release);  // pairs with watch()
  sched_.sysmon.notify();
  has_stopped_.sleep();
}

void sysmon::stop() noexcept {
  stop_looking();
  if (std::exchange(runs_, false)) os::join_thread(thread_, tid_);
}

void* sysmon::thread_main(void* self) {
  os::set_thread_name("thrum-sysmon");
  os::ask_for_short_turns();
  auto& me = *static_cast<sysmon*>(self);
  me.tid_ = os::current_tid();
  me.watch();
  me.slices_.close();  // the Ps may be left behind when the run ends
  me.has_stopped_.wake();
  return nullptr;
}

void sysmon::watch() noexcept {
  for (;;) {
    std::uint32_t const word = sched_.sysmon.notify_word();
    if (stopping_.load(acquire)) return;  // pairs with stop_looking()
    trace_if_due();
    sleep_kind const how = choose_sleep_kind();
    std::int64_t const limit_ns = say_how_long(how, limit_of(how));
    bool const notified = sleep(word, how, limit_ns);
    trace::pass(sched_, trace::gate::look);
    last_ = look();
    if (notified || last_ >= verdict::hurry || (how != sleep_kind::pause && !all_idle())) {
      pause_ns_ = pause_min_ns;
      looks_in_vain_ = 0;
      pause_exactly(last_ >= verdict::hurry);
    } else if (how == sleep_kind::pause) {
      looks_in_vain_ = std::min(looks_in_vain_ + 1, looks_before_slower);
      if (looks_in_vain_ < looks_before_slower || !applies(heuristic::slower_looks)) continue;
      pause_ns_ = std::min(pause_ns_ * 2, pause_max_ns);
      pause_exactly(false);
    }
  }
}

// Sleeps for `limit_ns`, and looks at the put-off wake-ups now and then meanwhile. Returns true if sysmon was notified.
bool sysmon::sleep(std::uint32_t word, sleep_kind how, std::int64_t limit_ns) noexcept {
  if (how == sleep_kind::deep_sleep) {  // sysmon looks as soon as a P is used
    put_off_.let_sleep();
    sched_.sysmon.knows_timers_from(0);
    return sched_.sysmon.sleep(word, limit_ns);
  }
  std::int64_t now_ns = os::monotonic_ns();
  bool was_nudged = false;
  for (std::int64_t until_ns = now_ns + limit_ns;;) {
    until_ns = until_next_timer(until_ns, now_ns, was_nudged);
    std::int64_t const nap_ns = put_off_.nap_ns(std::max<std::int64_t>(until_ns - now_ns, 0));
    static_cast<void>(sched_.sysmon.sleep(word, nap_ns));
    std::uint32_t const word_now = sched_.sysmon.notify_word();
    if (sysmon_link::was_notified(word, word_now)) return true;
    was_nudged = word_now != word;
    word = word_now;
    now_ns = os::monotonic_ns();
    if (now_ns >= until_ns) return false;
    put_off_.look(now_ns);
    if (put_off_.keeps_awake(now_ns) && poll_is_unwatched(sched_)) return false;
  }
}

// Returns the end of the sleep, which is earlier than `until_ns` if a timer is due before that and no P is idle. The
// time that sysmon announces (sysmon_link) is at the latest the time of that timer, so that no M nudges sysmon
// for the same timer.
//
// While a P is idle, the timekeeper watches the timers. If sysmon was nudged all the same, that P was busy a moment ago
// and may soon be busy again. If goroutines sleep and wake up on one P in turn, each of them would nudge sysmon. So
// sysmon looks once more after timer_pace_ns at the latest, and no M nudges it until then.
std::int64_t sysmon::until_next_timer(std::int64_t until_ns, std::int64_t now_ns, bool was_nudged) noexcept {
  sched_.sysmon.will_look_by(until_ns);
  if (sched_.idle.any_idle()) {
    if (!was_nudged) return until_ns;
    sched_.sysmon.knows_timers_from(now_ns);
    return std::min(until_ns, now_ns + timer_pace_ns);
  }
  std::int64_t first_ns = until_ns;
  for (P const* const p : sched_.procs) {
    std::int64_t const when_ns = p->timers.next_when();
    bool const is_away = p->status.load(relaxed) == p_status::syscall;  // relaxed: a hint
    first_ns = std::min(first_ns, when_ns);
    until_ns = std::min(
        until_ns,
        std::max(when_ns, now_ns + (is_away || !applies(heuristic::timer_pace) ? pause_min_ns : timer_pace_ns)));
  }
  sched_.sysmon.knows_timers_from(first_ns);
  return until_ns;
}

// After a look that found something, another one will probably find something soon, for example one thread after the
// other that sleeps in the kernel. Otherwise more exact pauses would only mean more looks.
void sysmon::pause_exactly(bool wanted) noexcept {
  if (!applies(heuristic::exact_pauses)) return;
  if (std::exchange(pauses_exactly_, wanted) != wanted) os::set_timer_slack_ns(wanted ? 1 : os::usual_timer_slack_ns);
}

std::int64_t sysmon::longest_pause_ns() const noexcept {
  return puts_off_ && applies(heuristic::pause_beside_put_off) ? pause_beside_put_off_ns : pause_max_ns;
}

// Ms rely on sysmon's next look (is_far_off), so a pause is at most as long as sysmon announced before the previous
// pause. A deep sleep ends when a P is taken into use.
std::int64_t sysmon::say_how_long(sleep_kind how, std::int64_t limit_ns) noexcept {
  std::int64_t const said_ns = sched_.sysmon.longest_pause_ns();
  sched_.sysmon.say_pace(limit_ns != pause_min_ns, longest_pause_ns());
  return how == sleep_kind::deep_sleep ? limit_ns : std::min(limit_ns, said_ns);
}

std::int64_t sysmon::limit_of(sleep_kind how) noexcept {
  switch (how) {
    case sleep_kind::deep_sleep:
      return until(std::min(housekeeping_.next_ns(), deadlock_.next_ns(os::monotonic_ns())), -1);
    case sleep_kind::doze: break;
    case sleep_kind::pause:
      if (last_ == verdict::look_again_soon) return pause_min_ns;
      return std::min({pause_ns_, until(slices_.next_look_ns(), pause_max_ns), longest_pause_ns()});
  }
  // A little less than the longest pause, because the kernel joins timers that are close to each other. Otherwise a
  // thread that sleeps for whole milliseconds would be found awake each time.
  return longest_pause_ns() / 16 * 15;
}

void sysmon::trace_if_due() noexcept {
  reports_.go_on();
  if (next_trace_ns_ == never_ns) return;
  std::int64_t const now_ns = os::monotonic_ns();
  if (now_ns < next_trace_ns_ || !reports_.can_begin()) return;
  trace_(sched_, now_ns - started_ns_, reports_);
  next_trace_ns_ = now_ns + sched_.options.schedtrace_every_ns;
}

bool sysmon::all_idle() const noexcept { return sched_.idle.all_idle(); }

// While all Ps are idle there is nothing to see. But a P that is used for a moment every millisecond should not have to
// notify sysmon each time. So before sysmon relies on notifications, it dozes once, and must have seen nothing move
// meanwhile. It decides on the deep sleep under the lock, so an M that takes a P into use after this notifies it.
//
// At the limit of threads there may be no M to watch the timers and the poller. sysmon does not sleep deeply then,
// because a thread that computes without a P could run them, and only sysmon can make it do so (sys/without_p.h). The
// same holds if a goroutine waits for a thread there (sys/limit_watch.h). Nor does sysmon sleep deeply while standard
// error has not taken all of its last report.
sysmon::sleep_kind sysmon::choose_sleep_kind() noexcept {
  if (!all_idle()) {
    has_dozed_ = false;
    return sleep_kind::pause;
  }
  if (!std::exchange(has_dozed_, true) || !all_still_ || next_trace_ns_ != never_ns || slices_.suspects_deadlock() ||
      reports_.is_under_way())
    return sleep_kind::doze;
  os::lock_guard const guard(sched_.lock);
  if (!all_idle()) return sleep_kind::pause;
  if (earliest_unwatched_timer(sched_) != never_ns || poll_is_unwatched(sched_)) return sleep_kind::doze;
  if (limit_.stands_still_locked(os::monotonic_ns())) return sleep_kind::doze;
  sched_.sysmon.begin_deep_sleep();
  return sleep_kind::deep_sleep;
}

verdict sysmon::look() noexcept {
  std::int64_t const now_ns = os::monotonic_ns();
  if (M const* const exiting = sched_.end.exiting_m()) exit_.look(*exiting, reports_, now_ns);
  put_off_.look(now_ns);
  auto const [all_still, puts_off] = put_off_.take_news();
  all_still_ = all_still;
  puts_off_ = puts_off;
  verdict most = look_at_network(now_ns);
  most = std::max(most, slices_.look(now_ns));
  housekeeping_.look(now_ns);
  deadlock_.look(now_ns, all_still_);
  limit_.look(now_ns);
  return std::max(most, look_at_syscalls(now_ns));
}

verdict sysmon::look_at_network(std::int64_t now_ns) noexcept {
  std::uint32_t const polls = sched_.poll.polls();
  bool const is_unwatched = poll_is_unwatched(sched_);
  bool const is_news = is_unwatched && !poll_was_unwatched_;
  poll_was_unwatched_ = is_unwatched;
  // The thread that polled and found events has not woken an M to sleep in the poller instead.
  puts_off_ = puts_off_ || (polls != polls_seen_ && sched_.idle.count() != 0 && !all_idle());
  if (polls != polls_seen_ || is_news) {
    polls_seen_ = polls;
    polls_seen_ns_ = now_ns;
    return is_news ? verdict::look_again_soon : verdict::nothing;
  }
  // A P is idle, and no M sleeps in the poller, because the M that did is busy with the events that came.
  if (is_unwatched && now_ns - polls_seen_ns_ < unwatched_for_ns && applies(heuristic::unwatched_for))
    return verdict::look_again_soon;
  if (is_unwatched) return relieve_poller(now_ns);
  if (!sched_.poll.is_worth_a_look()) polls_seen_ns_ = now_ns;
  if (now_ns - polls_seen_ns_ < poll_after_ns) return verdict::nothing;
  return poll_for_others() ? verdict::acted : verdict::nothing;
}

// A P is idle, and no thread has polled for a while. An event that there is has waited beside that P, so sysmon looks
// often from now on: see poll.h. If there is none, an M shall sleep in the poller.
verdict sysmon::relieve_poller(std::int64_t now_ns) noexcept {
  bool const was_late = poll_for_others();
  polls_seen_ = sched_.poll.polls();  // at the limit of threads sysmon is the only one that polls
  if (!was_late) return ensure_all_is_watched(sched_) ? verdict::acted : verdict::nothing;
  count(sched_.sysmon.late_polls);
  if (applies(heuristic::poll_care)) put_off_.keep_awake_until(now_ns + poll_care_ns);
  return verdict::acted;
}

// Returns whether there was an event.
bool sysmon::poll_for_others() noexcept {
  g_list runnable;
  look_at_poll(sched_, runnable);
  if (runnable.empty()) return false;
  inject(sched_, nullptr, runnable);
  return true;
}

verdict sysmon::look_at_syscalls(std::int64_t now_ns) noexcept {
  claims wanted;
  verdict most = verdict::nothing;
  for (P* const p : sched_.procs) most = std::max(most, look_at_syscall(*p, p->seen, now_ns, wanted));
  wanted.settle();
  while (P* const p = wanted.take()) {
    count(sched_.sysmon.retaken);
    hand_off(sched_, *p);
    most = verdict::acted;
  }
  return most;
}

verdict sysmon::look_at_syscall(P& p, sightings& seen, std::int64_t now_ns, claims& wanted) noexcept {
  if (std::uint32_t const tick = p.schedtick.load(relaxed); tick != seen.tick) {
    seen.tick = tick;
    seen.tick_since_ns = now_ns;
  }
  // If a P is idle, the timekeeper watches the timers.
  bool const timer_is_due = p.timers.next_when() <= now_ns && sched_.idle.count() == 0;
  if (p.status.load(relaxed) != p_status::syscall) {  // relaxed: a hint
    if (timer_is_due && p.runs_to_look.load(relaxed) != 0 && applies(heuristic::timer_hurry))
      p.runs_to_look.store(0, relaxed);
    return verdict::nothing;
  }
  all_still_ = false;
  bool const p_is_waited_for = is_waited_for(sched_, p) || timer_is_due;
  bool const is_wanted = p_is_waited_for || sched_.idle.all_busy();
  // This holds however short the calls are, because a goroutine that makes one call after the other, or uses the
  // runtime again and again from inside one call, would be seen in another call each time.
  bool const slice_is_over = p_is_waited_for && now_ns - seen.tick_since_ns >= sched_.options.slice_ns;
  if (std::uint64_t const call = p.counters.syscalls.load(relaxed); call != seen.syscall && !slice_is_over) {
    seen.syscall = call;
    seen.syscall_since_ns = os::monotonic_ns();  // not now_ns: this look may have begun long before the call
    return is_wanted ? verdict::look_again_soon : verdict::nothing;
  }
  if (!is_wanted && now_ns - seen.syscall_since_ns < retake_after_ns) return verdict::nothing;
  static_cast<void>(wanted.add(p, slice_is_over ? claim_for::slice : claim_for::call));
  return verdict::look_again_soon;  // the M may come back, or may just have been interrupted
}

}  // namespace thrum::rt
