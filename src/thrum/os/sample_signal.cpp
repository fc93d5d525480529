#include "os/sample_signal.h"

#include "base/atomic.h"
#include "os/fault.h"
#include "os/signal.h"
#include "os/thread_state.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

constinit atomic<sample_handler> current_handler{nullptr};

// Timer n carries the address of byte n. No other code of the process uses these addresses.
char tags[sample_timers_max];

constexpr std::int64_t second_ns = 1'000'000'000;

timespec as_timespec(std::int64_t ns) noexcept {
  return {.tv_sec = static_cast<time_t>(ns / second_ns), .tv_nsec = static_cast<long>(ns % second_ns)};
}

// The system call itself, because the C library's timer_create allocates memory.
int make_timer(int signal, int tid, std::size_t which, int& timer) noexcept {
  int error = 0;
  if (should_fail(call::timer, error)) return error;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event._sigev_un._tid = tid;
  event.sigev_signo = signal;
  event.sigev_value.sival_ptr = &tags[which];
  return ::syscall(SYS_timer_create, cpu_clock_of(tid), &event, &timer) == 0 ? 0 : errno;
}

}  // namespace

// SIGSEGV is the first signal that it looks at.
bool faults_are_caught() noexcept { return signal_of_fault_handler() == SIGSEGV; }

bool may_end_program(int signal) noexcept { return signal != SIGURG; }

void set_sample_handler(sample_handler handler) noexcept { current_handler.store(handler, release); }

bool answer_sample_timer(siginfo_t const& information, void const* ucontext) noexcept {
  if (information.si_code != SI_TIMER) return false;
  auto const which =
      reinterpret_cast<std::uintptr_t>(information.si_value.sival_ptr) - reinterpret_cast<std::uintptr_t>(tags);
  if (which >= sample_timers_max) return false;
  // acquire pairs with set_sample_handler
  current_handler.load(acquire)(which, static_cast<std::uint32_t>(information.si_overrun) + 1, ucontext);
  return true;
}

int sample_timer::start(int signal, int tid, std::size_t which, sample_period period) noexcept {
  stop();
  int const errno_before = errno;
  int error = make_timer(signal, tid, which, timer_);
  if (error == 0) {
    itimerspec const when{as_timespec(period.every_ns), as_timespec(period.first_ns)};
    error = ::syscall(SYS_timer_settime, timer_, 0, &when, nullptr) == 0 ? 0 : errno;
    if (error != 0) stop();
  } else {
    forget();
  }
  errno = errno_before;
  return error;
}

void sample_timer::stop() noexcept {
  int const errno_before = errno;
  if (timer_ >= 0) ::syscall(SYS_timer_delete, timer_);
  errno = errno_before;
  forget();
}

}  // namespace thrum::rt::os
