// run(): the one file that sees every floor. Checks the options, builds the runtime, runs main, takes it all down again.
#include "arch/entry.h"
#include "base/check.h"
#include "boot/left_behind.h"
#include "boot/panic.h"
#include "boot/settings.h"
#include "core/current.h"
#include "core/sched.h"
#include "debug/schedtrace.h"
#include "os/loaded_code.h"
#include "os/pause_signal.h"
#include "os/signal.h"
#include "sched/deadlock.h"
#include "sched/goroutine.h"
#include "sched/records.h"
#include "sched/schedule.h"
#include "sched/suspend.h"
#include "sched/thread_maker.h"
#include "sched/threads.h"
#include "sched/world.h"
#include "stack/overflow.h"
#include "sys/blocking.h"
#include "sys/preempt.h"
#include "sys/sysmon.h"
#include <thrum/detail/forced_unwind.h>
#include <thrum/run.h>

#include <cerrno>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace thrum::rt {
namespace {

// How long the end of run waits for goroutines that are in user code. They cannot be stopped there; after this they are
// left alone, with everything they may touch, and sleep for good at their next scheduling point.
constexpr std::int64_t end_patience_ns = 200'000'000;

// Filled before main: a goroutine that its run left behind may still look at them in the next one.
[[maybe_unused]] bool const hooks_are_filled = [] {
  m_hooks = {entered_with_attention, left_with_attention};
  return true;
}();

// One run at a time: the fault handler and the hooks are the process's.
constinit atomic<bool> run_is_alive{false};

struct one_run_at_a_time {
  one_run_at_a_time() {
    if (run_is_alive.exchange(true, acq_rel)) {  // pairs with the destructor: the earlier run has left everything
      throw std::logic_error("thrum::run: a runtime is alive already, and there is one at a time in a process");
    }
  }
  ~one_run_at_a_time() { run_is_alive.store(false, release); }
};

[[noreturn]] void throw_system_error(int error, char const* what) {
  throw std::system_error(error, std::generic_category(), std::string("thrum::run: ") + what);
}

struct fault_handling {
  fault_handling() {
    if (int const error = os::install_fault_handler(report_if_overflow)) {
      throw_system_error(error, "sigaction");
    }
  }
  ~fault_handling() { os::remove_fault_handler(); }
};

// The preemption signal, while a run is alive; and that the caller's thread takes it.
class pause_signal {
 public:
  explicit pause_signal(Sched const& s) : is_used_(s.options.async_preemption) {
    if (!is_used_) return;
    os::note_loaded_code();
    if (int const error = os::install_pause_signal(s.options.preempt_signal, pause_where_it_is)) {
      throw_system_error(error, "the preemption signal");
    }
    s.ms_signals.apply();
  }
  ~pause_signal() {
    if (!is_used_) return;
    os::remove_pause_signal(threads_are_left_ ? os::still_sent::perhaps : os::still_sent::no);
    callers_.apply();
  }
  pause_signal(pause_signal const&) = delete;
  pause_signal& operator=(pause_signal const&) = delete;

  void threads_are_left() noexcept { threads_are_left_ = true; }

 private:
  bool const is_used_;
  bool threads_are_left_ = false;
  os::signal_mask const callers_ = os::signal_mask::of_this_thread();
};

struct main_call {
  Sched& sched;
  void (*main)(void*);
  void* context;
  std::exception_ptr error;

  static void step(detail::task& self, detail::task_step) {
    auto& call = **reinterpret_cast<main_call**>(self.storage);
    try {
      call.main(call.context);
    } catch (...) {
      if (detail::is_forced_unwind()) throw;  // goexit: the others go on
      call.error = std::current_exception();
    }
    call.sched.main_completed = true;
  }
};

M& make_m0(Sched& s) {
  M* const m0 = s.m_slab.make(s, s.ms_made++);
  if (m0 == nullptr) throw_system_error(ENOMEM, "the first M");
  s.ms_total = 1;
  s.all_ms = m0;
  acquire_p(*m0, *s.procs[0]);
  return *m0;
}

G& make_main_goroutine(P& p, main_call& call) {
  G* const g = take_dead_g(p);
  if (g == nullptr) throw_system_error(ENOMEM, "the main goroutine");
  g->id = next_goroutine_id(p);
  g->is_main = true;
  g->is_joinable = false;
  g->task.step = main_call::step;
  ::new (static_cast<void*>(g->task.storage)) main_call*(&call);
  g->transition(g_status::dead, g_status::unstarted);
  if (!bind_stack(p, *g)) throw_system_error(ENOMEM, "the main stack");
  count(p.counters.created);
  return *g;
}

// The first thread: runs main until it first leaves, then only waits for its end (T02).
void run_on_m0(M& m0, G& main) {
  Sched& s = m0.sched;
  execute(m0, {&main, false});
  if (s.main_ended.is_woken()) return;
  P* const p = std::exchange(m0.p, nullptr);
  {
    os::lock_guard const guard(s.lock);
    s.m0_waits = true;
    if (p == nullptr) check_deadlock_locked(s);  // it was lost to a system call; main may have run and parked elsewhere
  }
  if (p != nullptr) hand_off(s, *p);
  s.main_ended.sleep();
}

std::unique_ptr<Sched> make_sched(options const& chosen) {
  auto made = std::make_unique<Sched>(checked_settings(chosen));
  os::lock_guard const guard(made->lock);
  for (std::size_t i = made->procs.size(); i-- > 1;) {
    P& p = *made->procs[i];
    p.transition(p_status::stopped, p_status::idle);
    p.idle_link = made->idle_p_list;
    made->idle_p_list = &p;
  }
  made->idle_procs.store(static_cast<std::int32_t>(made->procs.size()) - 1, relaxed);  // no other thread yet
  made->procs[0]->transition(p_status::stopped, p_status::running);
  return made;
}

}  // namespace
}  // namespace thrum::rt

namespace thrum::detail {

using namespace rt;

void run_main(void (*main)(void*), void* context, options const& chosen) {
  if (current_m() != nullptr) throw std::logic_error("thrum::run: called inside a goroutine of another run");
  one_run_at_a_time const alone;
  auto sched = make_sched(chosen);
  fault_handling const faults;
  set_uncaught_hook(report_panic);

  Sched& s = *sched;
  pause_signal preemption(s);
  M& m0 = make_m0(s);
  main_call call{s, main, context, nullptr};
  G& main_g = make_main_goroutine(*m0.p, call);
  thread_maker making(s);
  sysmon watching(s, print_schedtrace);
  if (int const error = adopt_thread(m0)) throw_system_error(error, "the signal stack");
  auto const callers = goroutine_globals::saved_from(m0.globals);  // run may be called inside a catch block
  enter(m0);
  run_on_m0(m0, main_g);
  if (m0.p != nullptr) retire_p(m0);
  bool const world_is_kept = keep_world_running(s, end_patience_ns);
  watching.stop();
  making.stop();
  end_of_ms const end = end_all_ms(s, end_patience_ns, world_is_kept);
  Sched::live_epoch.store(0, relaxed);  // whoever waits now waits for good; the caller's thread is told by returning
  callers.restore_to(m0.globals);
  release_thread(m0);
  if (end.threads_left != 0) preemption.threads_are_left();
  if (end.all_rest) leave_behind_what_is_referred_to(s);
  if (end.threads_left != 0) abandon(sched.release());  // they sleep in its memory, or may touch any of it
  if (call.error) std::rethrow_exception(call.error);
}

}  // namespace thrum::detail
