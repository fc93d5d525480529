// What sysmon does about wake-ups that were put off (sched/wake.h, sched/poll.h, sched/timekeeper.h).
//
// A goroutine in a P's runnext or ring, beside an idle P, for which nobody was woken: as a rule its P runs it within a microsecond.
// If it is still there at two looks, with nothing run in between, its waker computes or sleeps, and another P is woken for it. The
// same goes for a timer that nobody watches.
//
// The pace. While wake-ups are put off, sysmon looks every 250 us, and again 20 us after a look that found a goroutine waiting. So it
// waits for less than 400 us. While no P can be woken, because the limit of threads is reached, sysmon looks less often, every 2 ms. As soon as nothing is put off any more, sysmon tells the Ps that it does not watch
// (Sched::put_off_is_unwatched) and sleeps for long: the next P to put a wake-up off nudges it. A single message in a quiet program is
// followed by one look; where messages come more often than every 500 us, up to 8 looks in vain save them the nudges. A look reads a
// few words of each P; sysmon's other looks, which cost system calls, keep their own pace.
//
// What a P learns. After a mistake it puts nothing off for a number of wake-ups: 16 the first time, doubled up to 1,024 if mistakes
// come one upon the other. A mistake after many wake-ups that were put off rightly is probably a thread that the kernel kept from
// running: then the number is 16 again.
//
// The alternatives. Waking a P at once as long as sysmon sleeps would cost every goroutine that sends once in a while, and then
// blocks, more than a nudge does, and take the receiver away to another CPU. A number of looks that grows while there are no
// mistakes would make the one mistake that comes last for long.
//
// On sysmon's thread; takes sched.lock to wake a P.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

class put_off_watch {
 public:
  explicit put_off_watch(Sched& s) noexcept : sched_(s) {}

  // Looks at every P and at the timers; wakes a P for what has waited too long.
  void look(std::int64_t now_ns) noexcept;

  // How long sysmon sleeps before the next look, of the `limit_ns` until it looks at everything (negative: no limit).
  [[nodiscard]] std::int64_t nap_ns(std::int64_t limit_ns) noexcept;
  // Before a sleep that ends as soon as a P is used.
  void let_sleep() noexcept { sched_.put_off_is_unwatched.store(false, relaxed); }

  // Since the last call: whether a goroutine ran, and whether events were kept together or timers left to sysmon (counters.put_off).
  struct news {
    bool all_still = true;
    bool puts_off = false;
  };
  [[nodiscard]] news take_news() noexcept;

 private:
  using sighting = sightings::put_off_wake_ups;
  [[nodiscard]] bool look_at_timers(std::int64_t now_ns) noexcept;
  void look_at(P& p, sighting& seen, bool timer_was_left_by_mistake) noexcept;
  void wake_for_what_waits() noexcept;
  void learn_from_mistake(P& p, sighting& seen) const noexcept;
  [[nodiscard]] bool anything_waits() const noexcept;

  Sched& sched_;
  bool has_idle_p_ = false;  // at this look
  bool is_active_ = false;   // wake-ups were put off since the look before
  bool is_sighted_ = false;  // at this look something waits that did not at the one before: the next one comes soon
  bool came_soon_ = false;   // this look did
  unsigned in_vain_ = 0;     // so many wake-ups in a row have woken nothing, because no thread can be had
  int patience_ = 0;         // so many more looks may find nothing before it stops looking
  std::int64_t active_at_ns_ = 0;          // the last look at which they were
  std::int64_t unwatched_ns_ = never_ns;   // the timer that nobody watched at the last look
  std::int64_t left_to_us_ns_ = never_ns;  // one that was far off then: nobody was wrong to leave it
  news news_;
};

}  // namespace thrum::rt
