// sysmon: a thread without a P that watches the Ps from outside (S16; Go's sysmon).
//
// sysmon sleeps between two looks. It sleeps for 20 us as long as there is something to do, and then for ever longer
// times, up to 10 ms. While wake-ups are put off, it looks at these in between, every 250 us (sys/put_off_watch.h).
// While every P is idle it dozes for about 10 ms. If nothing has moved by then, it sleeps until a P is taken into use,
// so an idle program makes no system call, except while sysmon has something to give back or a deadlock to look for.
//
// sysmon never runs with a P. It takes Ps away from threads only to hand them off (hand_off in sched/threads.h). It
// allocates nothing and runs no user code. Its thread takes only fault signals and SIGABRT (os/thread.h), so of the
// program's signal handlers only those for a fault of sysmon itself run there. Any other handler could call close,
// which takes a lock that sysmon may hold (posix/watch.h).
//
// What it looks for:
//  - A P whose goroutine is in the same system call at two looks. sysmon takes this P if work waits for it, if no P is
//    idle and no M searches for work, or after 10 ms (S17).
//  - Goroutines whose slice is over, and threads that sleep in the kernel with a P (sys/slices.h).
//  - A goroutine that stays in a P's runnext or run queue while another goroutine runs there and another P is idle, and
//    timers that no M watches and that are due soon (sys/put_off_watch.h).
//  - Timers that are due on a P that runs. sysmon has that P look at them at its next switch. While no P is idle, no M
//    becomes the timekeeper. An M that already is the timekeeper keeps sleeping, but the other Ms do not rely on it:
//    sysmon does not sleep past the next timer (sched/timekeeper.h).
//  - Descriptors that goroutines wait for, if no M has polled for 10 ms, or for 100 us while a P is idle
//    (sched/poll.h). If an event has waited beside an idle P, sysmon looks every 250 us for a second.
//  - A goroutine that has called exit() and waits for a lock (sys/exit_watch.h).
//  - A deadlock, while only a thread that the runtime does not know prevents its report (sys/deadlock_watch.h).
//  - A program that stands still because it may not have more threads (sys/limit_watch.h).
//
// sysmon also gives back what has not been needed for long (sys/housekeeping.h), and it prints the schedtrace if the
// options ask for one. With a schedtrace it never sleeps deeply.
#pragma once

#include "core/claims.h"
#include "core/sched.h"
#include "os/thread.h"
#include "sys/deadlock_watch.h"
#include "sys/exit_watch.h"
#include "sys/housekeeping.h"
#include "sys/limit_watch.h"
#include "sys/put_off_watch.h"
#include "sys/report_text.h"
#include "sys/slices.h"

namespace thrum::rt {

class sysmon {
 public:
  // Starts the thread. Throws std::system_error if the thread cannot be made. `trace` prints the scheduler's state,
  // every options.schedtrace_every_ns. While standard error takes no report, the next trace is late.
  using trace_function = void (*)(Sched& s, std::int64_t since_start_ns, report_text& out) noexcept;
  sysmon(Sched& s, trace_function trace);
  sysmon(sysmon const&) = delete;
  sysmon& operator=(sysmon const&) = delete;
  ~sysmon() { stop(); }

  // When this returns, sysmon has stopped looking and does not touch anything of the run.
  void stop_looking() noexcept;
  // Returns when the thread has ended.
  void stop() noexcept;

 private:
  static void* thread_main(void* self);
  void watch() noexcept;
  [[nodiscard]] verdict look() noexcept;
  enum class sleep_kind : std::uint8_t { pause, doze, deep_sleep };
  [[nodiscard]] sleep_kind choose_sleep_kind() noexcept;
  [[nodiscard]] bool all_idle() const noexcept;
  [[nodiscard]] std::int64_t limit_of(sleep_kind how) noexcept;
  [[nodiscard]] std::int64_t longest_pause_ns() const noexcept;
  [[nodiscard]] std::int64_t say_how_long(sleep_kind how, std::int64_t limit_ns) noexcept;
  [[nodiscard]] bool sleep(std::uint32_t word, sleep_kind how, std::int64_t limit_ns) noexcept;
  [[nodiscard]] std::int64_t until_next_timer(std::int64_t until_ns, std::int64_t now_ns, bool was_nudged) noexcept;
  void pause_exactly(bool wanted) noexcept;
  void trace_if_due() noexcept;

  [[nodiscard]] verdict look_at_syscalls(std::int64_t now_ns) noexcept;
  [[nodiscard]] verdict look_at_syscall(P& p, sightings& seen, std::int64_t now_ns, claims& wanted) noexcept;
  [[nodiscard]] verdict look_at_network(std::int64_t now_ns) noexcept;
  [[nodiscard]] verdict relieve_poller(std::int64_t now_ns) noexcept;
  [[nodiscard]] bool poll_for_others() noexcept;

  Sched& sched_;
  trace_function const trace_;
  std::int64_t const started_ns_;
  std::int64_t next_trace_ns_;  // never_ns: no schedtrace is wanted
  os::thread thread_{};
  int tid_ = 0;
  atomic<bool> stopping_{false};
  os::note has_stopped_;
  bool runs_ = false;
  std::int64_t pause_ns_;
  int looks_in_vain_ = 0;
  bool pauses_exactly_ = false;  // the kernel was asked to end the pauses on time
  verdict last_ = verdict::nothing;
  bool all_still_ = false;  // nothing moved between the last two looks
  bool has_dozed_ = false;
  bool poll_was_unwatched_ = false;  // poll_is_unwatched at the last look
  bool puts_off_ = false;            // wake-ups were put off between the last two looks
  std::uint32_t polls_seen_ = 0;
  std::int64_t polls_seen_ns_ = 0;  // when Sched::polls had last changed
  report_text reports_;
  put_off_watch put_off_;
  slice_watch slices_;
  housekeeping housekeeping_;
  exit_watch exit_;
  deadlock_watch deadlock_;
  limit_watch limit_;
};

}  // namespace thrum::rt
