// What sysmon does about wake-ups that were put off (sched/wake.h, sched/poll.h, sched/timekeeper.h).
//
// A goroutine may stand in a P's runnext or run queue while another P is idle, because its wake-up was put off. As a
// rule its P runs it within a microsecond. If it is there at two looks, and its P has run nothing in between, its waker
// computes or sleeps, so sysmon starts an M on an idle P for it. The same goes for a timer that no M watches.
//
// The pace. While wake-ups are put off, sysmon looks every 250 us, and once more 20 us after a look that found a
// goroutine waiting. So such a goroutine waits for less than 400 us. While no M can be started, because the limit of
// threads is reached, sysmon looks less often, every 2 ms. As soon as nothing is put off, sysmon tells the Ps that it
// does not watch (watch_state::ask_for_nudge) and sleeps for long; the next P that puts a wake-up off nudges it. It
// keeps the pace also while keep_awake_until asks for that.
//
// What this costs. A single message in a quiet program is followed by one look. Where messages come more often than
// every 500 us, sysmon makes up to 8 looks in vain, which saves the Ps the nudges. A look reads a few words of each P.
// sysmon's other looks, which cost system calls, keep their own pace.
//
// What a P learns. After a mistake, a P puts nothing off for a number of wake-ups: 16 the first time, doubled up to
// 1,024 if mistakes follow each other closely. A mistake after many wake-ups that were put off rightly is probably due
// to a thread that the kernel kept from running, so the number is 16 in that case.
//
// The alternatives. Starting an M at once whenever sysmon sleeps would cost more than a nudge for every goroutine that
// sends once in a while and then blocks, and would move the receiver to another CPU. A number of looks that grows while
// there are no mistakes would make the one mistake that does come last for long.
//
// Runs on sysmon's thread. Takes sched.lock to start an M on an idle P.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

class put_off_watch {
 public:
  explicit put_off_watch(Sched& s) noexcept : sched_(s) {}

  // Looks at every P and at the timers. Starts an M on an idle P for what has waited too long.
  void look(std::int64_t now_ns) noexcept;

  // How long sysmon sleeps before the next call of look, at most `limit_ns`, which is the time until sysmon looks at
  // everything (negative: no limit).
  [[nodiscard]] std::int64_t nap_ns(std::int64_t limit_ns) noexcept;
  // Called before a sleep that ends as soon as a P is used.
  void let_sleep() noexcept { sched_.watch.need_no_nudge(); }

  // Until this time the naps are short, so that sysmon can look at something else as well.
  void keep_awake_until(std::int64_t until_ns) noexcept { awake_until_ns_ = until_ns; }
  [[nodiscard]] bool keeps_awake(std::int64_t now_ns) const noexcept { return now_ns < awake_until_ns_; }

  // What happened since the last call: whether no goroutine ran, and whether events were kept together or timers were
  // left to sysmon (counters.put_off).
  struct news {
    bool all_still = true;
    bool puts_off = false;
  };
  [[nodiscard]] news take_news() noexcept;

 private:
  using sighting = sightings::put_off_wake_ups;
  [[nodiscard]] bool look_at_timers(std::int64_t now_ns) noexcept;
  void look_at(P& p, sighting& seen, bool timer_was_left_by_mistake) noexcept;
  // Calls wake_an_m, and notes whether that was in vain.
  template <class Wake>
  void wake(Wake wake_an_m) noexcept;
  void learn_from_mistake(P& p, sighting& seen) const noexcept;
  [[nodiscard]] bool anything_waits() const noexcept;

  Sched& sched_;
  bool has_idle_p_ = false;  // a P is idle at this look
  bool is_active_ = false;   // wake-ups were put off since the look before
  // something waits at this look that did not wait at the look before, so the next look comes soon
  bool is_sighted_ = false;
  bool came_soon_ = false;       // this look came soon, because is_sighted_ was set
  bool anything_waits_ = false;  // at this look something waits beside an idle P
  unsigned in_vain_ = 0;         // the number of wake-ups in a row that started no M because no thread was available
  int patience_ = 0;             // the number of looks that may find nothing before sysmon stops looking
  bool is_kept_awake_ = false;   // keeps_awake at this look
  std::int64_t awake_until_ns_ = 0;
  std::int64_t active_at_ns_ = 0;          // when a look last found put-off wake-ups
  std::int64_t unwatched_ns_ = never_ns;   // the timer that no M watched at the last look
  std::int64_t left_to_us_ns_ = never_ns;  // a timer that was far off then, so leaving it to sysmon was no mistake
  news news_;
};

}  // namespace thrum::rt
