// What surrounds the scheduler while a run is alive: signal handlers, sysmon, the thread maker, and the seats of
// foreign threads. The members are built in the order of their declaration, and are taken down in the reverse order.
#pragma once

#include "boot/chaos.h"
#include "boot/crash.h"
#include "boot/debug_socket.h"
#include "boot/profile_of_run.h"
#include "boot/quit.h"
#include "boot/trace_of_run.h"
#include "core/sched.h"
#include "os/pause_signal.h"
#include "os/signal.h"
#include "sched/thread_maker.h"
#include "sys/sysmon.h"
#include <thrum/run.h>

#include <memory>

namespace thrum::rt {

// One run at a time, because the fault handler and the hooks belong to the process.
struct one_run_at_a_time {
  one_run_at_a_time();
  ~one_run_at_a_time();
  one_run_at_a_time(one_run_at_a_time const&) = delete;
  one_run_at_a_time& operator=(one_run_at_a_time const&) = delete;
};

// The preemption signal, while a run is alive. Also makes sure that the caller's thread takes it.
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

class run_services {
 public:
  // Throws std::invalid_argument for options outside the rules, and std::logic_error if another run is alive.
  explicit run_services(options const& chosen);
  run_services(run_services const&) = delete;
  run_services& operator=(run_services const&) = delete;
  ~run_services();

  [[nodiscard]] Sched& sched() noexcept { return *sched_; }

  // Starts the threads that are no Ms. Throws std::system_error. From then on until end(), foreign threads may enter
  // the runtime.
  void start();

  // Brings everything to rest. No goroutine goes on after this. Called on the thread that built the object. In a child
  // of fork there is nothing to bring to rest, so everything is left as it is.
  void end() noexcept;

 private:
  // Leaves everything as it is, for good, because the threads of these objects are not in this process or are stopped.
  void abandon_all() noexcept;

  one_run_at_a_time one_run_;
  std::unique_ptr<Sched> sched_;
  trace_of_run trace_;
  profile_of_run profile_;
  crash_reports crashes_;
  pause_signal preemption_;
  quit_signal quit_signal_;
  std::unique_ptr<thread_maker> thread_maker_;
  std::unique_ptr<sysmon> sysmon_;
  std::unique_ptr<chaos> chaos_;
  debug_socket debug_socket_;
};

}  // namespace thrum::rt
