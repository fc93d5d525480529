#include "sys/sysmon.h"

#include "os/futex.h"
#include "os/lock.h"
#include "sched/timekeeper.h"
#include "sched/wake.h"

#include <algorithm>
#include <system_error>

namespace thrum::rt {
namespace {

// Go's range.
constexpr std::int64_t pause_min_ns = 20'000;
constexpr std::int64_t pause_max_ns = 10'000'000;
constexpr std::int64_t pause_first_ns = 1'000'000;  // until the first find: most programs give no reason for more
constexpr int looks_before_slower = 50;             // Go's value

// How many wake-ups a P does not put off after one turned out to be needed.
constexpr std::uint32_t wakes_at_once_after_mistake = 1024;

}  // namespace

sysmon::sysmon(Sched& s) : sched_(s) {
  if (s.options.procs == 1) return;
  seen_ = std::make_unique<sighting[]>(s.procs.size());
  if (int const error = os::create_thread(thread_, thread_main, this)) {
    throw std::system_error(error, std::generic_category(), "thrum::run: the thread of sysmon");
  }
  s.sysmon_runs = true;
}

void sysmon::stop() noexcept {
  if (!sched_.sysmon_runs) return;
  stopping_.store(true, release);  // pairs with watch()
  ring_sysmon(sched_);
  os::join_thread(thread_);
  sched_.sysmon_runs = false;
}

void* sysmon::thread_main(void* self) {
  os::set_thread_name("thrum-sysmon");
  static_cast<sysmon*>(self)->watch();
  return nullptr;
}

void sysmon::watch() noexcept {
  std::int64_t pause_ns = pause_first_ns;
  int looks_in_vain = 0;
  for (;;) {
    std::uint32_t const bell = sched_.sysmon_bell.load(acquire);  // pairs with ring_sysmon
    if (stopping_.load(acquire)) return;                          // pairs with stop()
    bool const deep = may_sleep_deeply();
    os::futex_wait(sched_.sysmon_bell, bell, deep ? -1 : pause_ns);
    if (deep) pause_ns = pause_first_ns;
    if (look()) {
      pause_ns = pause_min_ns;
      looks_in_vain = 0;
    } else if (++looks_in_vain >= looks_before_slower) {
      pause_ns = std::min(pause_ns * 2, pause_max_ns);
    }
  }
}

// Decided under the lock: whoever takes a P into use after this rings.
bool sysmon::may_sleep_deeply() noexcept {
  if (!all_still_) return false;
  os::lock_guard const guard(sched_.lock);
  sched_.sysmon_in_deep_sleep = sched_.idle_procs.load(relaxed) == sched_.options.procs;
  return sched_.sysmon_in_deep_sleep;
}

bool sysmon::look() noexcept {
  bool const unwatched = see_that_timers_are_watched(sched_);
  bool found = unwatched;
  all_still_ = true;
  for (std::size_t i = 0; i < sched_.procs.size(); ++i) {
    P& p = *sched_.procs[i];
    sighting const now{p.queue.peek_next().bits(), p.counters.switches()};
    bool const still = now.switches == seen_[i].switches;
    all_still_ = all_still_ && still;
    bool const waits_beside_idle_p =
        still && now.next != 0 && now.next == seen_[i].next && sched_.idle_procs.load(relaxed) != 0;
    if (waits_beside_idle_p || (still && unwatched)) p.wakes_at_once.store(wakes_at_once_after_mistake, relaxed);
    if (waits_beside_idle_p) {
      wake_if_idle(sched_);
      found = true;
    }
    seen_[i] = now;
  }
  return found;
}

}  // namespace thrum::rt
