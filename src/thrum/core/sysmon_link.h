// What sysmon and the other threads of a run tell each other. sysmon watches the Ps from a thread without a P
// (sys/sysmon.h).
//
// Other threads notify sysmon by a futex word. They rely on what sysmon has said about its next look, so that they need
// not wake it. No operation takes a lock. Those that are called under sched.lock say so.
#pragma once

#include "base/atomic.h"
#include "core/counters.h"
#include "os/futex.h"

#include <cstdint>

namespace thrum::rt {

class sysmon_link {
 public:
  // --- notifications. Any thread ---

  // Ends any sleep of sysmon, so that it looks at everything at once.
  void notify() noexcept { wake(one_notification); }
  // Makes sysmon, if it sleeps, only decide anew how long it sleeps. For that it looks at the put-off wake-ups and at
  // the timers.
  void nudge() noexcept { wake(1U); }

  // --- notifications, on sysmon's thread ---

  [[nodiscard]] std::uint32_t notify_word() const noexcept { return notify_word_.load(acquire); }  // pairs with wake
  // Sleeps until the word is not `seen` any more, for at most `limit_ns`. Returns false if the time is over.
  bool sleep(std::uint32_t seen, std::int64_t limit_ns) noexcept {
    return os::futex_wait(notify_word_, seen, limit_ns) != os::wait_result::timed_out;
  }
  // Whether sysmon was notified, and not only nudged, between these two values of the word. One in 65,536 nudges looks
  // like a notification, because it carries over.
  [[nodiscard]] static bool was_notified(std::uint32_t before, std::uint32_t now) noexcept {
    return before / one_notification != now / one_notification;
  }

  // --- deep sleep, while all Ps are idle. Under sched.lock ---

  void begin_deep_sleep() noexcept { is_in_deep_sleep_ = true; }
  [[nodiscard]] bool is_in_deep_sleep() const noexcept { return is_in_deep_sleep_; }
  // A P is taken into use.
  void end_deep_sleep() noexcept {
    if (!is_in_deep_sleep_) return;
    is_in_deep_sleep_ = false;
    notify();
  }

  // --- the pace. Written by sysmon, read by any thread. All relaxed, because these are hints ---

  // sysmon will not look within some ten microseconds.
  [[nodiscard]] bool is_slow() const noexcept { return is_slow_.load(relaxed); }
  // The longest pause that sysmon makes at present, unless all Ps are idle.
  [[nodiscard]] std::int64_t longest_pause_ns() const noexcept { return longest_pause_ns_.load(relaxed); }
  void say_pace(bool is_slow, std::int64_t longest_pause_ns) noexcept {
    is_slow_.store(is_slow, relaxed);
    longest_pause_ns_.store(longest_pause_ns, relaxed);
  }

  // --- timers, while no P is idle: see make_sysmon_watch in sched/watch.h ---

  // On an M that has a timer for `when_ns`: sysmon looks at it in time.
  void watch_timer(std::int64_t when_ns) noexcept {
    if (when_ns >= looks_by_ns_.load(seq_cst)) return;  // pairs with will_look_by
    // relaxed: it only saves other threads a nudge; sysmon overwrites it with the time until which it really sleeps
    looks_by_ns_.store(when_ns, relaxed);
    nudge();
  }
  // On sysmon's thread: it looks at the timers of all Ps now, and then sleeps until this time at the latest. Either
  // sysmon sees a timer that an M has set, or that M sees this time.
  void will_look_by(std::int64_t until_ns) noexcept {
    looks_by_ns_.store(until_ns, seq_cst);
    store_load_fence();
  }
  // On sysmon's thread: it knows of a timer at this time, so no M has to nudge it for that one or a later one. relaxed:
  // it only saves nudges.
  void knows_timers_from(std::int64_t when_ns) noexcept {
    if (when_ns < looks_by_ns_.load(relaxed)) looks_by_ns_.store(when_ns, relaxed);
  }
  [[nodiscard]] std::int64_t looks_by_ns() const noexcept { return looks_by_ns_.load(relaxed); }

  // --- statistics. Written by sysmon ---

  counter looks;
  counter retaken;            // Ps that sysmon took from system calls
  counter late_polls;         // polls by sysmon that found an event beside an idle P
  counter preemptions_asked;  // requests to pause; one slice may need several

 private:
  static constexpr std::uint32_t one_notification = 1U << 16U;  // the lower half of the word counts nudges

  void wake(std::uint32_t by) noexcept {
    notify_word_.fetch_add(by, release);  // pairs with notify_word()
    os::futex_wake(notify_word_, 1);
  }

  atomic<std::uint32_t> notify_word_{0};
  bool is_in_deep_sleep_ = false;  // under sched.lock
  atomic<bool> is_slow_{false};
  atomic<std::int64_t> longest_pause_ns_{10'000'000};  // until sysmon has written it
  atomic<std::int64_t> looks_by_ns_{0};
};

}  // namespace thrum::rt
