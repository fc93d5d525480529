#include "boot/crash.h"

#include "arch/stack_walk.h"
#include "base/atomic.h"
#include "base/check.h"
#include "base/report_limits.h"
#include "base/standard_error.h"
#include "boot/panic.h"
#include "boot/places.h"
#include "boot/start_error.h"
#include "core/current.h"
#include "core/ender.h"
#include "os/guarded_call.h"
#include "os/interrupted_code.h"
#include "os/memory.h"
#include "os/note.h"
#include "os/report_deadline.h"
#include "os/signal.h"
#include "os/thread.h"
#include "sched/goroutine.h"
#include "stack/overflow.h"

#include <cstdlib>
#include <exception>

namespace thrum::rt {
namespace {

// In seconds of reports (base/report_limits.h).
constexpr std::int64_t slower_by = with_asan || with_tsan ? 3 : 1;
constexpr std::int64_t names_s_max = slower_by * 5;  // until the thread maker has looked up the names
// Until the whole report is written. It is longer than the 10 s for which a write waits for standard error
// (base/standard_error.h), because the writes that follow do not wait, and then the terminate handler has to be called.
constexpr std::int64_t report_s_max = slower_by * 15;

// The report of the ender (core/ender.h).
struct {
  atomic<int> made_by{0};  // the thread that makes the report; 0: no report is being made
  places all;
  os::note written;
  bool has_deadline = false;  // used by the thread that makes the report
} constinit report;

void begin_report(os::after_report what) noexcept {
  report.made_by.store(os::current_tid(), relaxed);  // relaxed: it matters to this thread only
  report.has_deadline = os::start_report_deadline(report_s_max * second_of_reports_ns(), what);
}

void end_report() noexcept {
  os::stop_report_deadline();
  report.made_by.store(0, relaxed);
  call_before_death();
}

bool reports_here() noexcept { return report.made_by.load(relaxed) == os::current_tid() && is_ender(); }

// Ends the program as it would have ended after the report.
[[noreturn]] void give_report_up(char const* why) noexcept {
  report.made_by.store(0, relaxed);
  print_addresses_left(report.all);
  if (!stderr_would_wait()) print_error("thrum: this report is incomplete: %s", why);
  int const signal = how_program_ends().signal;
  if (signal == 0) die();
  if (signal != SIGABRT) os::end_by_signal(signal);
  note_dying();
  std::abort();  // the program may have a handler for it
}

// The M of the calling thread, or nullptr if it runs no goroutine or is a foreign thread. A crash of a foreign thread
// is not reported.
M* crashing_m() noexcept {
  M* const m = current_m();
  return m != nullptr && m->current != nullptr && !m->is_foreign ? m : nullptr;
}

// Asks to end the program if the crash is reported. A thread whose crash is not reported does not become the ender, but
// does not cut an ender off either. The reader of symbols is such a thread. If it faults, the ender goes on without it.
ender_turn turn_of(M const* m, way_to_end how) noexcept {
  if (m != nullptr) return ask_to_end(how);
  return another_is_ender() ? ender_turn::after_another : ender_turn::again;
}

// Prints the places in report.all.
void print_noted(M const& m) noexcept {
  Sched& s = m.sched;
  if (!s.world.is_forbidden()) {
    auto const errand = [](Sched&) noexcept {
      with_symbols(print_places, &report.all);
      report.written.wake();
    };
    s.thread_maker.run_once(errand);
    if (report.written.sleep_for(names_s_max * second_of_reports_ns())) return;
  }
  report.all.are_left.store(true, relaxed);  // relaxed: the worst is that a place is printed twice
  if (report.has_deadline) return print_places_plainly(report.all);
  print_addresses(report.all);  // the loader's lock, which the names need, may be locked for good
}

// After a call through an invalid pointer, the stack walk cannot start at the program counter. The return address of
// the call tells the caller, so the walk starts there.
void step_out_of_wild_call(stack_registers& at, stack_range on) noexcept {
#if defined(__x86_64__)
  auto const* const sp = reinterpret_cast<char const*>(at.by_number[stack_registers::sp]);
  if (sp < on.low || sp + sizeof(std::uintptr_t) > on.high || !os::readable(sp)) return;
  at.by_number[stack_registers::pc] = *reinterpret_cast<std::uintptr_t const*>(sp) - 1;
  at.by_number[stack_registers::sp] += sizeof(std::uintptr_t);
#else
  static_cast<void>(on);
  at.by_number[stack_registers::pc] = at.by_number[stack_registers::lr] - 1;
#endif
}

void note_frames(stack_registers const& from, stack_range on) noexcept {
  places& all = report.all;
  all.count = os::walk_stack_guarded(from, on, all.frames, places::frames_max);
  if (all.count > 1) return;
  stack_registers caller = from;
  step_out_of_wild_call(caller, on);
  std::size_t const known = all.count;
  all.count += os::walk_stack_guarded(caller, on, all.frames + known, places::frames_max - known);
}

// --- overflow ---

void begin_overflow_report() noexcept {
  switch (ask_to_end({})) {
    case ender_turn::first:
    case ender_turn::again: return begin_report(os::after_report::program_ends);
    case ender_turn::after_another: wait_for_end_of_program(); die();
    case ender_turn::in_child: return;
  }
}

overflow_victim running_on(stack const& on) noexcept {
  M const* const m = crashing_m();
  if (m == nullptr || m->current->on != &on) return {on, 0, nullptr};
  return {on, m->current->id, m->current->task.created_at};
}

void print_frames(stack_registers const& from, stack_range on) noexcept {
  M const* const m = crashing_m();
  if (m == nullptr || !reports_here()) return;
  note_frames(from, on);
  print_noted(*m);
}

// --- signals ---

char const* words_for(int signal) noexcept {
  switch (signal) {
    case SIGSEGV: return "SIGSEGV: segmentation violation";
    case SIGBUS: return "SIGBUS: bus error";
    case SIGFPE: return "SIGFPE: arithmetic error";
    case SIGILL: return "SIGILL: illegal instruction";
    default: return "SIGABRT: abort";
  }
}

// Whether the thread itself caused the signal. abort() and raise() send the signal to the calling thread.
bool is_its_own(int signal, siginfo_t const& info) noexcept {
  if (signal != SIGABRT) return info.si_code > 0;
  return info.si_code == SI_TKILL && info.si_pid == os::process_id();
}

void print_what(int signal, siginfo_t const& info, void const* ucontext) noexcept {
  if (signal == SIGABRT) {
    print_error("thrum: fatal error: %s", words_for(signal));
  } else {
    print_error("thrum: fatal error: %s at address %p (pc 0x%zx)", words_for(signal), info.si_addr,
                os::program_counter_of(ucontext));
  }
}

void report_signal_stack(M const& m, siginfo_t const& info, void const* ucontext) noexcept {
  print_error(
      "thrum: fatal error: a signal handler has overflowed the signal stack of its thread, which has %zu bytes "
      "(fault at %p)",
      os::alt_stack_bytes(), info.si_addr);
  print_head(*m.current);
  report.all.frames[0] = os::program_counter_of(ucontext);
  report.all.count = 1;
  print_noted(m);
}

// --- std::terminate ---

constinit atomic<std::terminate_handler> previous_terminate{nullptr};
// Whether on_terminate is in force, or is the previous handler of one that the program has set. Runs change it, and
// only one run at a time is alive.
bool terminate_is_linked = false;

char const* why_terminate(G& g) noexcept {
  switch (obstacle_of_exit(g)) {
    case exit_obstacle::none: break;
    case exit_obstacle::noexcept_function:
      return "goexit cannot unwind through a noexcept function, such as a destructor";
    case exit_obstacle::exception_in_flight:
      return "goexit was called in a destructor while an exception unwinds the goroutine";
    case exit_obstacle::exception_thrown: return "a destructor threw an exception while goexit unwinds the goroutine";
  }
  return std::current_exception() != nullptr
             ? "an exception left a noexcept function, or a destructor that was called while another exception "
               "unwound the stack"
             : "called by the program, or by its C++ library";
}

void report_terminate(M const& m) noexcept {
  G& g = *m.current;
  print_error("thrum: fatal error: std::terminate: %s", why_terminate(g));
  bool const has_exception =
      obstacle_of_exit(g) == exit_obstacle::none || obstacle_of_exit(g) == exit_obstacle::exception_thrown;
  if (has_exception && std::current_exception() != nullptr) print_error("\twhat: %s", what_of_current());
  print_head(g);
  places& all = report.all;  // not in this frame, because the program goes on
  all.count = 0;
  all.note_callers();
  all.note_creation(g);
  static_cast<void>(print_places_in_time(all));
}

// The handler of the C++ library writes a line to standard error, without a time limit, and SIGPIPE ends the program if
// standard error has no reader.
bool is_of_cxx_library(std::terminate_handler handler) noexcept {
#if defined(__GLIBCXX__)
  return handler == __gnu_cxx::__verbose_terminate_handler;
#else
  static_cast<void>(handler);
  return false;
#endif
}

// A terminal that says that it is ready may have room for a few bytes only. So the line is not written there if the
// report has said the same.
bool takes_line_of_cxx_library(bool is_reported) noexcept {
  if (stderr_would_wait() || stderr_is_given_up() || stderr_has_no_reader()) return false;
  return !(is_reported && stderr_is_terminal());
}

void on_terminate() {
  M const* const m = crashing_m();
  ender_turn const turn = turn_of(m, {.signal = SIGABRT, .function = "terminate handler"});
  switch (turn) {
    case ender_turn::first:
      begin_report(os::after_report::program_goes_on);
      report_terminate(*m);
      end_report();
      break;
    case ender_turn::after_another:
      wait_for_end_of_program();
      os::end_by_signal(SIGABRT);  // the terminate handler may be what the ender waits in
    case ender_turn::again:
    case ender_turn::in_child: break;
  }
  auto const previous = previous_terminate.load(acquire);
  if (previous != nullptr && (!is_of_cxx_library(previous) || takes_line_of_cxx_library(turn == ender_turn::first))) {
    previous();
  }
  std::abort();
}

void link_terminate() noexcept {
  if (terminate_is_linked) return;
  terminate_is_linked = true;
  previous_terminate.store(std::get_terminate(), release);  // pairs with the acquire load in on_terminate
  std::set_terminate(on_terminate);
}

void unlink_terminate() noexcept {
  if (std::get_terminate() != on_terminate) return;  // it stays below the program's handler
  std::set_terminate(previous_terminate.load(relaxed));
  terminate_is_linked = false;
}

}  // namespace

bool report_fault(int signal, siginfo_t* info, void* ucontext) noexcept {
  if (os::is_report_deadline(*info)) {
    if (report.made_by.load(relaxed) == 0) return true;  // it was stopped too late
    give_report_up("it has waited too long for a lock or for the reader of standard error");
  }
  if (reports_here()) give_report_up(words_for(signal));
  if (report_if_overflow(signal, info, ucontext)) return true;
  if (is_dying() || !is_its_own(signal, *info)) return false;
  M const* const m = crashing_m();
  bool const hits_signal_stack =
      m != nullptr && signal == SIGSEGV && m->signal_stack.guard_holds(static_cast<char const*>(info->si_addr));
  if (!hits_signal_stack && !os::goes_to_default(signal)) return false;
  ender_turn const turn = turn_of(m, {.signal = signal});
  if (turn == ender_turn::after_another) wait_for_end_of_program();
  if (turn != ender_turn::first) return false;
  begin_report(os::after_report::program_ends);
  if (hits_signal_stack) {
    report_signal_stack(*m, *info, ucontext);
    call_before_death();
    return false;
  }
  print_what(signal, *info, ucontext);
  G const& g = *m->current;
  print_head(g);
  if (g.on != nullptr) note_frames(os::interrupted_registers(ucontext), {g.on->low, g.on->top});
  report.all.note_creation(g);
  print_noted(*m);
  call_before_death();
  return false;
}

crash_reports::crash_reports() {
  note_process_of_run();
  set_overflow_hooks({begin_overflow_report, running_on, print_frames});
  if (int const error = os::install_fault_handler(report_fault)) {
    set_overflow_hooks({});
    throw_system_error(error, "sigaction");
  }
  link_terminate();
}

crash_reports::~crash_reports() {
  unlink_terminate();
  os::remove_fault_handler();
  set_overflow_hooks({});
}

}  // namespace thrum::rt
