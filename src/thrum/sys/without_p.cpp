#include "sys/without_p.h"

#include "base/heuristics.h"
#include "os/thread_state.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace thrum::rt {

using namespace watching_without_p;

namespace {

constexpr std::int64_t is_reported = -1;
// The present round may already have passed the thread. The next one is the first whole round.
constexpr int rounds_after_a_change = 2;

bool is_away(M const& m, std::uint32_t how) noexcept {
  return (m.attention.load(relaxed) & how) != 0 && !m.in_runtime.load(relaxed);
}
bool is_without_p(M const& m) noexcept { return is_away(m, m_attend::unannounced); }
bool is_in_announced_call(M const& m) noexcept {
  return is_away(m, m_attend::away) && !is_without_p(m) && hint_of(m.current) != nullptr && !m.is_foreign;
}

constexpr std::size_t report_bytes_max = 4096;

// `resident` is 0 if its number is not known.
void write_report(report_text& out, M const& m, bool is_announced, unsigned long long waiter,
                  unsigned long long resident) noexcept {
  out.begin(report_bytes_max);
  char who[40] = "a goroutine";
  if (resident != 0) std::snprintf(who, sizeof who, "goroutine %llu", resident);
  out.add(
      "thrum: %s is runnable, but it is in a call of thrum::posix that must end on thread thrum-m%d, and there "
      "goroutine %llu has been %s for more than a second.\n",
      who, m.id, waiter, is_announced ? "in a call that it announced (thrum::blocking)" : "waiting for a lock");
  if (is_announced) {
    out.add(
        "thrum: goroutine %llu must stay on that thread, because it is itself in such a call or holds a recursive "
        "mutex of the C library (thrum::posix_locks), or because no other thread can be made. If it waits for "
        "something that the runnable goroutine does, both wait forever. Unlock before you announce a call, and wait "
        "with thrum's own channels and locks. SIGQUIT shows where all goroutines are.\n",
        waiter);
  } else {
    out.add(
        "thrum: if the runnable goroutine holds that lock, both wait forever. It may be a std::mutex (link "
        "thrum::posix_locks), a std::shared_mutex or a semaphore (use thrum's own), std::call_once (use thrum::once) "
        "or a function-local static that is being initialised. None of these may be held during a call that waits. "
        "SIGQUIT shows where all goroutines are.\n");
  }
  out.send();
}

}  // namespace

bool without_p_watch::has_nothing_to_do() const noexcept {
  return sched_.unannounced.without_p() == 0 && !sched_.unannounced.residents_announce();
}

void without_p_watch::look(std::int64_t now_ns) noexcept {
  if (has_nothing_to_do()) {
    next_ = all_ms::end();
    rounds_to_go_ = 0;
    return;
  }
  // A goroutine that runs may make residents runnable, also residents of a thread that this round has already passed.
  // The next whole round sees them, even if all Ps are idle by then.
  if (!sched_.idle.all_idle()) rounds_to_go_ = rounds_after_a_change;
  if (now_ns - looked_at_ns_ < look_every_ns || (next_ == all_ms::end() && !begin_round(now_ns))) return;
  std::int64_t work =
      std::min((now_ns - std::exchange(looked_at_ns_, now_ns)) / look_every_ns * work_per_look, work_max);
  for (; next_ != all_ms::end() && work > 0; ++next_) {
    if (is_without_p(*next_) || (is_in_announced_call(*next_) && next_->residents.any_runnable())) {
      look_at(*next_, now_ns);
      work -= work_per_clock;
    } else {
      next_->without_p.forget();
      --work;
    }
  }
  if (next_ == all_ms::end()) end_round();
}

void without_p_watch::end_round() noexcept {
  if (std::exchange(has_suspects_, false)) {
    rounds_to_go_ = rounds_after_a_change;
  } else if (rounds_to_go_ != 0) {
    --rounds_to_go_;
  }
}

bool without_p_watch::begin_round(std::int64_t now_ns) noexcept {
  if (now_ns - round_began_ns_ < sched_.options.slice_ns) return false;
  round_began_ns_ = now_ns;
  next_ = all_ms_now(sched_).begin();
  return true;
}

void without_p_watch::look_at(M& m, std::int64_t now_ns) noexcept {
  int const tid = hint_of(m.tid);
  std::int64_t const cpu_ns = os::thread_cpu_ns(tid);
  std::int64_t const before_ns = std::exchange(m.without_p.cpu_ns_, cpu_ns);
  std::int64_t const since_ns = now_ns - std::exchange(m.without_p.cpu_at_ns_, now_ns);
  look_at_residents(m, tid, cpu_ns == before_ns, now_ns);
  if (!sched_.options.async_preemption || !is_without_p(m)) return;
  if (before_ns >= 0 && cpu_ns - before_ns >= computing_for_ns) {
    ask(m, tid, since_ns, cpu_ns - before_ns, now_ns);
  } else {
    m.without_p.ran_ = false;
  }
}

void without_p_watch::look_at_residents(M& m, int tid, bool sleeps, std::int64_t now_ns) noexcept {
  bool const one_is_runnable = m.residents.any_runnable();
  if (!sleeps || !one_is_runnable) {
    m.without_p.stuck_since_ns_ = 0;
  } else if (m.without_p.stuck_since_ns_ == 0) {
    m.without_p.stuck_since_ns_ = now_ns;
  } else if (m.without_p.stuck_since_ns_ != is_reported && now_ns - m.without_p.stuck_since_ns_ >= stuck_for_ns) {
    report_stuck(m, tid);
  }
  has_suspects_ = has_suspects_ || (one_is_runnable && m.without_p.stuck_since_ns_ != is_reported);
}

void without_p_watch::report_stuck(M& m, int tid) noexcept {
  bool const is_announced = is_in_announced_call(m);
  int& reports_left = reports_left_[is_announced ? 1 : 0];
  if (reports_left != 0 && !reports_.can_begin()) return;  // the next round tries again
  m.without_p.stuck_since_ns_ = is_reported;
  if (reports_left == 0) return;
  os::thread_watch watch;
  if (!is_announced && !watch.look(tid).waits_for_a_lock()) return;  // other calls end by themselves
  unsigned long long waiter = 0;
  unsigned long long resident = 0;
  {
    os::lock_guard const guard(sched_.lock);
    G const* const waits = hint_of(m.current);
    bool const is_stuck = is_announced ? is_in_announced_call(m) : is_without_p(m);
    if (!is_stuck || waits == nullptr || !m.residents.any_runnable()) return;
    waiter = hint_of(waits->id);  // its thread may go on meanwhile
    // A resident that m's own thread has readied is in a queue that only this thread reads.
    G const* const posted = m.residents.first_posted();
    resident = posted != nullptr ? posted->id : 0;
  }
  --reports_left;
  write_report(reports_, m, is_announced, waiter, resident);
}

// There are only a few timers, and each one is used for the next thread that needs one. A thread whose timer was taken
// for another thread before it fired does not count as asked.
bool without_p_watch::ask_by_timer(M& m, int tid, std::int64_t now_ns) noexcept {
  if (now_ns < timers_again_ns_ || m.without_p.asked_ >= asking::asked_before_insisting) return false;
  m.pause.set_reach(pause_in::vdso);
  request& next = requests_[next_request_++ % requests_.size()];
  bool const is_cancelled = next.of != nullptr && next.of != &m && next.of->pause.answers() == next.answers;
  if (is_cancelled && next.of->without_p.asked_ > 0) --next.of->without_p.asked_;
  next.of = &m;
  next.answers = m.pause.answers();  // before the timer is set, because it may fire at once
  bool const is_set = next.timer.send_at_next_tick(tid);
  if (is_set) {
    ++m.without_p.asked_;
  } else {
    next.of = nullptr;
    bool const is_gone = os::thread_cpu_ns(tid) < 0;
    if (!is_gone) timers_again_ns_ = now_ns + asking::timers_again_after_ns;
  }
  return is_set;
}

void without_p_watch::close() noexcept {
  for (request& each : requests_) each.timer.close();
}

// The thread has used the CPU since the last look. But it may have slept most of that time, and may be on its way out
// of a call at this moment; the signal would make that call fail (T04). So the signal is sent only if the thread runs
// at two looks.
void without_p_watch::ask(M& m, int tid, std::int64_t since_ns, std::int64_t used_ns, std::int64_t now_ns) noexcept {
  if (ask_by_timer(m, tid, now_ns)) return;
  os::thread_watch watch;
  os::thread_activity const activity = watch.look(tid).activity;
  bool const runs = activity == os::thread_activity::runs;
  bool const computes = (std::exchange(m.without_p.ran_, runs) && runs) ||
                        (activity == os::thread_activity::unknown && used_ns >= since_ns / 4 * 3);
  if (!computes) return;
  bool const insists = runs && m.without_p.asked_++ >= asking::asked_before_insisting;
  m.pause.set_reach(insists ? pause_in::libc : pause_in::vdso);
  static_cast<void>(os::send_pause_signal(tid));
}

}  // namespace thrum::rt
