#include "os/report_deadline.h"

#include "base/current_tid.h"
#include "os/signal.h"
#include "os/signal_set.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

char mark_of_deadline;  // the signal carries its address

// The deadline that is running. Only the report that has started it touches it.
struct {
  int timer = -1;
  int borrowed = 0;  // this signal has its default action when no deadline is running; 0: none is borrowed
  int to_block = 0;  // the thread blocked this signal before; 0: it did not
} constinit running;

// No program uses this signal, which Linux never sends. It carries the deadline if no signal is left to thrum's handler
// of faults.
constexpr int spare_signal = SIGSTKFLT;

bool borrow(int signal) noexcept {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return false;
  put_fault_handler_in_force(signal);
  running.borrowed = signal;
  return true;
}

void give_back(int signal) noexcept {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(signal, &usual, nullptr);
}

// Returns 0 if there is none.
int choose_signal(after_report what) noexcept {
  if (what == after_report::program_ends) {
    put_fault_handler_in_force(SIGSEGV);
    return SIGSEGV;
  }
  if (int const ours = signal_of_fault_handler()) return ours;
  return borrow(spare_signal) ? spare_signal : 0;
}

void unblock(int signal) noexcept {
  sigset_t const its = only(signal);
  sigset_t before;
  ::pthread_sigmask(SIG_UNBLOCK, &its, &before);
  running.to_block = ::sigismember(&before, signal) == 1 ? signal : 0;
}

void block(int signal) noexcept {
  sigset_t const its = only(signal);
  ::pthread_sigmask(SIG_BLOCK, &its, nullptr);
}

}  // namespace

// Makes the system calls itself, because the C library's timer_create allocates memory.
bool start_report_deadline(std::int64_t after_ns, after_report what) noexcept {
  running = {};
  int const signal = choose_signal(what);
  if (signal == 0) return false;
  unblock(signal);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event._sigev_un._tid = current_tid();
  event.sigev_signo = signal;
  event.sigev_value.sival_ptr = &mark_of_deadline;
  if (::syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &running.timer) != 0) {
    running.timer = -1;
    return false;
  }
  itimerspec const once{{}, {after_ns / 1'000'000'000, after_ns % 1'000'000'000}};
  return ::syscall(SYS_timer_settime, running.timer, 0, &once, nullptr) == 0;
}

// The thread does not block the signal, so a signal that the timer has sent is handled before timer_delete returns.
void stop_report_deadline() noexcept {
  if (running.timer != -1) ::syscall(SYS_timer_delete, running.timer);
  if (running.borrowed != 0) give_back(running.borrowed);
  if (running.to_block != 0) block(running.to_block);
  running = {};
}

bool is_report_deadline(siginfo_t const& information) noexcept {
  return information.si_code == SI_TIMER && information.si_value.sival_ptr == &mark_of_deadline;
}

}  // namespace thrum::rt::os
