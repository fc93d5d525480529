// What stands around the scheduler while a run is alive: the handlers of signals, sysmon, the thread maker, and the seats of
// threads from outside. Built from below, taken down from above.
#pragma once

#include "boot/chaos.h"
#include "boot/crash.h"
#include "boot/quit.h"
#include "core/sched.h"
#include "os/pause_signal.h"
#include "os/signal.h"
#include "sched/thread_maker.h"
#include "sys/sysmon.h"
#include <thrum/run.h>

#include <memory>

namespace thrum::rt {

[[noreturn]] void throw_system_error(int error, char const* what);

// One run at a time: the fault handler and the hooks are the process's.
struct one_run_at_a_time {
  one_run_at_a_time();
  ~one_run_at_a_time();
  one_run_at_a_time(one_run_at_a_time const&) = delete;
  one_run_at_a_time& operator=(one_run_at_a_time const&) = delete;
};

// The preemption signal, while a run is alive; and that the caller's thread takes it.
class pause_signal {
 public:
  explicit pause_signal(Sched const& s);
  ~pause_signal();
  pause_signal(pause_signal const&) = delete;
  pause_signal& operator=(pause_signal const&) = delete;

  void may_still_be_sent(os::still_sent some) noexcept { still_sent_ = some; }

 private:
  int const number_;  // 0: there is none
  os::still_sent still_sent_ = os::still_sent::no;
  os::signal_mask const callers_ = os::signal_mask::of_this_thread();
};

class house {
 public:
  // Throws std::invalid_argument for options outside the rules, std::logic_error for a run beside a run.
  explicit house(options const& chosen);
  house(house const&) = delete;
  house& operator=(house const&) = delete;
  ~house();

  [[nodiscard]] Sched& sched() noexcept { return *sched_; }

  // The threads that are no Ms. Throws std::system_error. From then on, and until end(), other threads may come in.
  void start_services();

  // Everything comes to rest: no goroutine goes on after this. On the thread that built it. In a child of fork that has nothing to come
  // to rest, all of it is left as it is.
  void end() noexcept;

 private:
  // Leaves everything as it is, for good: the threads of these are not in this process, or are stopped.
  void abandon_all() noexcept;

  one_run_at_a_time alone_;
  std::unique_ptr<Sched> sched_;
  crash_reports crashes_;
  pause_signal preemption_;
  quit_signal quitting_;
  std::unique_ptr<thread_maker> making_;
  std::unique_ptr<sysmon> watching_;
  std::unique_ptr<chaos> disorder_;
};

}  // namespace thrum::rt
