#include "boot/report.h"

#include "base/check.h"
#include "base/report_limits.h"
#include "debug/dump.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/note.h"
#include "os/pause_signal.h"
#include "sched/world.h"
#include "sys/preempt.h"

namespace thrum::rt {
namespace {

// In seconds of reports (base/report_limits.h). A goroutine that is stopping the world is waited for as long as the
// stop may take.
constexpr std::int64_t patience_to_stop_s = 1;
// The time until the goroutines are noted: twice the time above, and what the thread maker does before. Then names are
// looked up, which takes a while in a large program, but no goroutine can delay that.
constexpr std::int64_t patience_to_note_s = 5;
constexpr std::int64_t patience_to_write_s = 60;
constexpr std::int64_t look_up_every_ns = 10'000'000;

// This is a static object and not in the frame of the goroutine that panics, because that frame may be gone when a
// report comes too late.
struct {
  atomic<std::uint64_t> except_id{no_goroutine_id};
  atomic<bool> is_noted{false};
  os::note written;
} constinit request;

// If goroutines are not preempted by signal, loops without calls could not be stopped. The program ends with the
// report, so the signal is taken into use for it.
void let_signals_stop_loops(Sched& s) noexcept {
  if (s.options.async_preemption || with_tsan) return;  // TSan puts signals off until the next call (T15)
  if (os::install_pause_signal(s.options.preempt_signal, answer_pause_signal) != 0) return;
  s.world.interrupt_loops();  // the handler is in force
}

void report(Sched& s, std::uint64_t except_id, atomic<bool>* noted) noexcept {
  let_signals_stop_loops(s);
  goroutine_list all;
  bool is_stopped = false;
  bool all_have_stopped = false;
  {
    stopped_world const world(s, patience_to_stop_s * second_of_reports_ns());
    is_stopped = world.is_stopped();
    all_have_stopped = world.is_complete();
    all.note(s, is_stopped ? goroutine_list::frames::noted : goroutine_list::frames::none, except_id);
  }
  if (noted != nullptr) noted->store(true, relaxed);  // relaxed: it only prolongs the wait
  // Standard error may be full, and the world must not be stopped for as long as a write waits for it (T01).
  if (!is_stopped) {
    print_error(
        "thrum: the goroutines are shown without names and stack traces, because another goroutine has been "
        "stopping them for more than a second");
  } else if (!all_have_stopped) {
    print_error("thrum: some goroutines could not be stopped within a second and are shown as they were found");
  }
  if (print_goroutines(all)) return;
  // The list must not be destroyed. The goroutine that panics ends the program.
  if (noted == nullptr) die();
  request.written.wake();
  os::sleep_for_good();
}

void run_errand(Sched& s) noexcept {
  report(s, request.except_id.load(relaxed), &request.is_noted);  // ordered by the errand
  request.written.wake();
}

}  // namespace

void report_goroutines(Sched& s, std::uint64_t except_id) noexcept { report(s, except_id, nullptr); }

void report_other_goroutines(Sched& s, std::uint64_t except_id) noexcept {
  request.except_id.store(except_id, relaxed);
  s.thread_maker.run_once(run_errand);
  std::int64_t const began_ns = os::monotonic_ns();
  while (!request.written.sleep_for(look_up_every_ns)) {
    note_step_of_report();  // threads that wait for the end of the program wait for this as well
    bool const is_noted = request.is_noted.load(relaxed);
    std::int64_t const waited_s = (os::monotonic_ns() - began_ns) / second_of_reports_ns();
    // soon there will be no thread maker
    if (!is_noted && s.world.is_forbidden()) return say_that_others_are_missing("the run is ending");
    if (!is_noted && waited_s >= patience_to_note_s)
      return say_that_others_are_missing("no thread has noted them within five seconds");
    if (waited_s >= patience_to_write_s)
      return say_that_others_are_missing("their list was not complete after sixty seconds");
  }
}

void say_that_others_are_missing(char const* why) noexcept {
  print_error("thrum: not all other goroutines are shown, because %s", why);
}

}  // namespace thrum::rt
