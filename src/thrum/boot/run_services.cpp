#include "boot/run_services.h"

#include "arch/context.h"
#include "arch/entry.h"
#include "arch/stack_walk.h"
#include "base/check.h"
#include "base/sanitizer_of_program.h"
#include "boot/left_behind.h"
#include "boot/panic.h"
#include "boot/quota.h"
#include "boot/run_guests.h"
#include "boot/settings.h"
#include "boot/start_error.h"
#include "core/current.h"
#include "core/ender.h"
#include "core/forked.h"
#include "core/wait_profile.h"
#include "debug/debugger_table.h"
#include "debug/dump.h"
#include "debug/schedtrace.h"
#include "os/futex.h"
#include "os/loaded_code.h"
#include "os/process.h"
#include "os/unknown_child.h"
#include "sched/end_all_ms.h"
#include "sched/exit_stage.h"
#include "sched/world.h"
#include "stack/registry.h"
#include "sync/misuse.h"
#include "sys/attention.h"
#include "sys/foreign.h"
#include "sys/preempt.h"
#include "wait/poll_close.h"

#include <limits>
#include <stdexcept>
#include <string>

namespace thrum::rt {
namespace {

// How long the end of a run waits for goroutines that are in user code and cannot be stopped there. After this time
// they are left alone, with everything that they may touch, and they sleep for good at their next scheduling point.
constexpr std::int64_t end_patience_ns = 200'000'000;

void prepare_for_death() noexcept {
  flush_traces_before_death();
  remove_debug_socket_file();
}

// The hooks are filled only once, because a goroutine that its run left behind may read them during the next run. They
// are filled before main, because foreign threads ask for a seat whether there is a run or not. Each run also calls
// this, because a run may begin in a constructor that runs before this initialisation.
bool fill_hooks() noexcept {
  static bool const are_filled = [] {
    m_hooks = {entered_with_attention, entered_if_alive, entered_to_exit, left_with_attention, seat_thread};
    set_bounds_hook(bounds_by_address);
    set_misuse_report(report_misuse);
    set_before_death(prepare_for_death);
    return true;
  }();
  return are_filled;
}
[[maybe_unused]] bool const hooks_are_filled = fill_hooks();

// TSan would report races that are none, and its record of each thread's calls would break at the first switch between
// stacks. A program was seen to hang or to crash in one of two runs.
void refuse_tsan_in_the_program_alone() noexcept {
  if (!program_has_tsan_alone()) return;
  fatal(
      "this program is built with ThreadSanitizer, but its thrum is not, so TSan cannot follow goroutines. Build "
      "thrum with "
      "-DTHRUM_SANITIZE=thread (docs/sanitizers.md), or build the program without -fsanitize=thread");
}

constinit atomic<bool> run_is_alive{false};

// Runs in a child of fork, on its only thread, before fork returns there. The thread does not belong to the scheduler
// after this.
void note_fork_in_child() noexcept {
  // The server that would end a client's profile does not exist here.
  forget_client_rates();
  if (!run_is_alive.load(relaxed)) return;  // relaxed: of the parent's threads only this one is left
  os::cease_to_recognise_children();        // this one is known
  is_forked_inside_run.store(true, relaxed);
  // Goroutines that wait in the parent do not exist here, so an unlock must not look for them.
  Sched::live_epoch.store(0, relaxed);
  trace::some_trace_is_on.store(false, relaxed);
  set_current_m(nullptr);
  forget_debug_socket_of_parent();
  close_descriptors_of_guests_in_child();
}

// Registers once in a process, by the first run. If there is no memory for the entry, a child of fork is not
// recognised.
void watch_forks() noexcept {
  static constinit atomic<bool> is_done{false};
  if (is_done.exchange(true, relaxed)) return;  // relaxed: one run at a time
  static_cast<void>(os::call_in_children_of_fork(note_fork_in_child));
}

// Makes the Sched. Every P is idle.
std::unique_ptr<Sched> make_sched(options const& chosen) {
  fill_hooks();
  refuse_tsan_in_the_program_alone();
  watch_forks();
  Sched::forget_threads_of_parent();
  // before the handler that asks for it; without a handler, for the places of unannounced calls
  os::note_loaded_code();
  auto made = std::make_unique<Sched>(checked_settings(chosen));
  os::lock_guard const guard(made->lock);
  made->idle.put_all();
  static_cast<void>(made->trace.measure_waits(made->options.measure_waits));
  return made;
}

// Called when no goroutine runs. The program ends after it.
void report_dead_world(Sched& s) noexcept {
  goroutine_list all;
  all.note(s, goroutine_list::frames::noted);
  if (!print_goroutines(all)) die();  // the list must not be destroyed
}

}  // namespace

one_run_at_a_time::one_run_at_a_time() {
  if (forked_inside_run())
    throw std::logic_error(std::string("thrum::run: a run cannot begin here: ") + why_no_runtime());
  if (current_m() != nullptr)
    throw std::logic_error(
        "thrum::run: it was called on a goroutine of another run, and a process can have only one run at a time");
  if (run_is_alive.exchange(true, acq_rel)) {  // pairs with the destructor: the earlier run has left everything
    throw std::logic_error("thrum::run: another run or runtime is alive, and a process can have only one at a time");
  }
  os::begin_to_recognise_children();
}

one_run_at_a_time::~one_run_at_a_time() {
  os::cease_to_recognise_children();
  run_is_alive.store(false, release);
}

pause_signal::pause_signal(Sched const& s) : number_(s.options.async_preemption ? s.options.preempt_signal : 0) {
  if (number_ == 0) return;
  if (int const error = os::install_pause_signal(number_, answer_pause_signal)) {
    throw_system_error(error, "cannot install the handler of the preemption signal");
  }
  s.ms_signals.apply();
}

pause_signal::~pause_signal() {
  if (number_ == 0) return;
  // A signal that is pending, because main had it blocked, is delivered while the handler is installed.
  callers_.without(number_).apply_to(number_);
  os::remove_pause_signal(still_sent_);
  callers_.apply_to(number_);  // what main has done to other signals stays
}

run_services::run_services(options const& chosen)
    : sched_(make_sched(chosen)), trace_(*sched_), profile_(*sched_), preemption_(*sched_), quit_signal_(*sched_) {
  watch_for_exit();
  set_uncaught_hook(report_panic);
  prepare_stack_walks();
  sched_->report_goroutines = report_dead_world;
  sched_->thread_maker.follow_cpus_by(follow_cpus);
  trace_.start_if_asked();
  tell_debugger_of(sched_.get());
  profile_.start_if_asked();
  debug_socket_.open(chosen);
}

// A run that was abandoned stays the one that a debugger shows until the next one begins, because its threads still
// have frames.
run_services::~run_services() {
  if (sched_ != nullptr) tell_debugger_of(nullptr);
}

void run_services::start() {
  thread_maker_ = std::make_unique<thread_maker>(*sched_);
  sysmon_ = std::make_unique<sysmon>(*sched_, print_schedtrace);
  chaos_ = std::make_unique<chaos>(*sched_);
  debug_socket_.serve(*sched_);
  open_to_guests(*sched_);
  admit_threads(*sched_);
}

namespace {

// What abandon_all has left behind. That happens at most once in a process, because no run can be started after it. A
// leak checker that runs after that finds what these pointers refer to.
struct {
  chaos* disorder;
  sysmon* watching;
  thread_maker* making;
  Sched* sched;
} constinit volatile abandoned{};

// Otherwise a program that has panicked could end with exit code 0, in the middle of its report. A function of the
// program may wait for the end of the run, so the wait has a limit.
void let_ender_end_program() noexcept {
  if (!another_is_ender()) return;
  wait_for_end_of_program();
  end_in_place_of_ender();
}

// An ender that waits has stopped like all others, and does not end the program. It belongs to the run that ends, or to
// an earlier one.
bool ender_has_stopped(void const*) noexcept {
  Sched const* const its_run = run_of_ender();
  return its_run != nullptr && all_ms_have_stopped(*its_run);
}

}  // namespace

void run_services::abandon_all() noexcept {
  debug_socket_.abandon();
  if (!forked_inside_run()) abandon_guests();
  trace_.abandon();
  profile_.abandon();
  abandoned.disorder = chaos_.release();
  abandoned.watching = sysmon_.release();
  abandoned.making = thread_maker_.release();
  abandoned.sched = sched_.release();
}

void run_services::end() noexcept {
  if (forked_inside_run()) {
    abandon_all();
    return;
  }
  Sched& s = *sched_;
  if (s.end.is_by_exit()) {
    M const* const self = current_m();
    // On the thread of any other M, the program ends by exit().
    if (self == nullptr || !s.end.exits_on(*self)) os::sleep_for_good();
    abandon_all();  // exit() destroys a static object that owns this object; all other threads are already stopped
    return;
  }
  let_ender_end_program();  // goroutines run meanwhile
  end_guests();
  debug_socket_.end();
  chaos_->stop();
  int const others_inside = dismiss_threads(s, end_patience_ns);
  // That may have taken long. This is the last moment at which all that an ender may need is there: scheduling, sysmon
  // and the thread maker.
  let_ender_end_program();
  bool const world_is_kept = keep_world_running(s, end_patience_ns);
  // A thread takes locks of the C library when it ends. While the thread maker ends, sysmon makes sure that a goroutine
  // that holds such a lock gets its turn. sysmon's own thread is joined when all others have ended or stopped.
  thread_maker_->stop();
  sysmon_->stop_looking();
  end_of_ms const end = end_all_ms(s, end_patience_ns, world_is_kept);
  wait_for_threads_inside(s);
  // If a goroutine has called exit() meanwhile, it ends the program. A goroutine that calls exit() later was left
  // behind.
  if (!s.end.claim_for_run()) os::sleep_for_good();
  // goroutines that wait at this point wait for good; the caller's thread learns of it when this returns
  s.end.note_goroutines_are_left_behind();  // if end_all_ms has not, because no goroutine was left in user code
  Sched::live_epoch.store(0, relaxed);
  static_cast<void>(os::futex_wake(Sched::live_epoch, std::numeric_limits<int>::max()));  // see enter_from_outside
  Sched::threads_asleep_for_good.fetch_add(threads_left_waiting(s), relaxed);
  bool const memory_is_used = end.threads_left + others_inside != 0;
  if (end.threads_left != 0) {
    preemption_.may_still_be_sent(end.all_have_stopped ? os::still_sent::perhaps : os::still_sent::for_good);
  }
  if (end.all_have_stopped) {
    keep_referenced_memory(s);
    close_abandoned_descriptors(s.epoch);
  }
  if (end.threads_left == 0 && profile_.may_leave_signals()) preemption_.may_still_be_sent(os::still_sent::perhaps);
  bool const profile_has_ended = profile_.end();
  bool const trace_has_ended = trace_.end();
  chaos_.reset();
  sysmon_.reset();
  thread_maker_.reset();
  // A goroutine that has become the ender meanwhile is not stopped in user code.
  if (another_is_ender()) {
    wait_for_end_of_program(ender_has_stopped, nullptr);
    end_in_place_of_ender();
  }
  if (!memory_is_used && trace_has_ended && profile_has_ended) return;
  trace_.abandon();
  profile_.abandon();
  abandon(sched_.release());  // threads sleep in its memory, or may touch any of it
}

}  // namespace thrum::rt
