// run() and runtime: the users of run_services (boot/run_services.h).
#include "boot/run_services.h"
#include "boot/start_error.h"
#include "core/current.h"
#include "core/ender.h"
#include "core/forked.h"
#include "core/trace.h"
#include "os/process.h"
#include "sched/deadlock.h"
#include "sched/exit_stage.h"
#include "sched/goroutine.h"
#include "sched/m_thread.h"
#include "sched/records.h"
#include "sched/schedule.h"
#include "sched/switch.h"
#include "sched/threads.h"
#include <thrum/detail/forced_unwind.h>
#include <thrum/run.h>

#include <cerrno>
#include <exception>

#include <ucontext.h>
#if THRUM_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace thrum::rt {
namespace {

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
      if (detail::is_forced_unwind()) throw;  // goexit: the other goroutines go on
      call.error = std::current_exception();
    }
    call.sched.end.main_completes();
  }
};

M& make_m0(Sched& s) {
  M* m0 = nullptr;
  {
    os::lock_guard const guard(s.lock);
    m0 = s.ms.make(s);
    if (m0 != nullptr) {
      s.ms.has_started(*m0);
      acquire_p(*m0, *s.idle.take());
    }
  }
  if (m0 == nullptr) throw_system_error(ENOMEM, "no memory for the first thread's record");
  return *m0;
}

G& make_main_goroutine(M& m, main_call& call) {
  P& p = *m.p;
  G* const g = take_dead_g(p);
  if (g == nullptr) throw_system_error(ENOMEM, "no memory for the main goroutine");
  g->id = next_goroutine_id(p);
  g->is_main = true;
  g->is_joinable = false;
  g->task.step = main_call::step;
  ::new (static_cast<void*>(g->task.storage)) main_call*(&call);
  g->transition(g_status::dead, g_status::unstarted);
  if (!bind_stack(p, *g)) throw_system_error(ENOMEM, "no memory for the stack of the main goroutine");
  count(p.counters.created);
  trace::created(m, *g, trace::create_detail::plainly);
  return *g;
}

// Where run() goes on in a child of fork when main returns there, on whichever thread and stack that is. The frame that
// the context names exists, because the thread that called run() was further down its stack when another thread forked.
constinit struct {
  ucontext_t* context;
  os::stack_beyond_fork stack;
} way_out_of_child{};

[[noreturn]] void leave_run_in_child() noexcept {
  if (!way_out_of_child.stack.is_kept_in_child()) {
    fatal(
        "run() cannot return in this child process, because it was called on a thread that fork has not copied. "
        "Call exec or _exit "
        "in the child, or lock main to its thread (lock_os_thread)");
  }
#if THRUM_ASAN
  __asan_handle_no_return();
#endif
  ::setcontext(way_out_of_child.context);
  fatal("run() cannot return in this child process (setcontext: errno=%d)", errno);
}

// The first thread runs main until main first leaves it, and then only waits for the end of main (T02). This function
// may return twice, the second time in a child of fork.
[[gnu::noinline]] void run_on_m0(M& m0, G& main) {
  Sched& s = m0.sched;
  ucontext_t way_out;
  way_out_of_child = {&way_out, os::stack_beyond_fork::of_this_thread()};
  return_from_run_in_child = ::getcontext(&way_out) == 0 ? leave_run_in_child : nullptr;
  if (forked_inside_run()) return;
  execute(m0, {&main, false});
  check_that_exit_does_not_wait(m0);
  if (s.end.run_is_woken()) return;
  P* const p = m0.p != nullptr ? &release_p(m0) : nullptr;
  {
    os::lock_guard const guard(s.lock);
    s.ms.wait_for_end(m0);
    // the P was lost in a system call; main may have run and parked on another thread
    if (p == nullptr) check_deadlock_locked(s);
  }
  if (p != nullptr) hand_off(s, *p);
  s.end.wait_for_main();
}

// Main ended here and never left this thread. A foreign thread whose wait is over needs a P to come out of the runtime
// (S38). So does the ender, for which the end of the run waits. Other uses of the P are not wanted at this point.
void part_from_last_p(M& m0) noexcept {
  Sched& s = m0.sched;
  s.lock.acquire();
  bool const others_need_it = s.ms.foreign() != 0 || has_ender();
  s.lock.release();
  if (others_need_it) {
    hand_off(s, release_p(m0));
  } else {
    retire_p(m0);
  }
}

}  // namespace
}  // namespace thrum::rt

namespace thrum::detail {

using namespace rt;

void run_main(void (*main)(void*), void* context, options const& chosen) {
  run_services services(chosen);
  Sched& s = services.sched();
  M& m0 = make_m0(s);
  main_call call{s, main, context, nullptr};
  G& main_g = make_main_goroutine(m0, call);
  if (int const error = adopt_thread(m0)) throw_system_error(error, "cannot set up the signal stack");
  try {
    services.start();
  } catch (...) {
    release_thread(m0);
    throw;
  }
  auto const callers = goroutine_globals::saved_from(m0.globals);  // run may be called inside a catch block
  enter_runtime(m0);
  run_on_m0(m0, main_g);
  return_from_run_in_child = nullptr;
  if (forked_inside_run()) {
    callers.restore_to(thread_globals::of_this_thread());
    services.end();
    if (call.error) std::rethrow_exception(call.error);
    return;
  }
  if (m0.p != nullptr) part_from_last_p(m0);
  callers.restore_to(m0.globals);
  release_thread(m0);
  services.end();
  if (call.error) std::rethrow_exception(call.error);
}

}  // namespace thrum::detail

namespace thrum {
namespace {

options without_deadlock_detection(options chosen) {
  chosen.deadlock_detection = false;  // the owner's thread goes on, and may do anything
  return chosen;
}

}  // namespace

struct runtime::impl {
  explicit impl(options const& chosen) : services(without_deadlock_detection(chosen)) {
    static_cast<void>(
        services.sched()
            .ms.take_number());  // 0 is the number of a caller that becomes an M; this caller does not become one
    services.start();
  }
  ~impl() { services.end(); }
  rt::run_services services;
};

runtime::runtime(options const& chosen) : impl_(std::make_unique<impl>(chosen)) {}
runtime::~runtime() = default;

}  // namespace thrum
