#include "os/pause_signal.h"

#include "base/atomic.h"
#include "os/signal.h"
#include "os/signal_chain.h"
#include "os/thread_state.h"

#include <cstring>

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

constinit atomic<pause_handler> current_handler{nullptr};
chained_signal handled[_NSIG];  // by their numbers: one that was left linked may still be sent
constinit atomic<int> number_in_use{0};
constinit atomic<bool> sent_for_good[_NSIG];  // by timers: a run that comes later must not give that number back
constinit atomic<bool> any_sent_for_good{false};
char
    mark_of_ours;  // its address is what our signals carry: no other process can know it, no other code of this one uses it

THRUM_SIGNAL_ENTRY void on_signal(int number, siginfo_t* information, void* context) {
  int const errno_before = errno;
  bool const may_be_ours = information->si_code == SI_QUEUE || information->si_code == SI_TIMER;
  if (may_be_ours && information->si_value.sival_ptr == &mark_of_ours) {
    // acquire pairs with install_pause_signal: what the handler relies on was written before
    if (pause_handler const handler = current_handler.load(acquire)) handler(context);
  } else {
    pass_on(handled[number], information, context);
  }
  errno = errno_before;
}

}  // namespace

int install_pause_signal(int signal, pause_handler handler) noexcept {
  if (signal <= 0 || signal >= _NSIG) return EINVAL;
  current_handler.store(handler, release);  // pairs with on_signal
  number_in_use.store(signal, relaxed);     // ordered by the creation of whoever sends
  chained_signal& mine = handled[signal];
  if (mine.linked) return 0;  // since an earlier run
  mine.number = signal;
  return take_over(mine, on_signal, SA_ONSTACK | SA_RESTART);
}

int remove_pause_signal(still_sent some) noexcept {
  int const number = number_in_use.load(relaxed);
  if (some == still_sent::perhaps || sent_for_good[number].load(relaxed)) return 0;
  chained_signal& mine = handled[number];
  int const error = mine.linked ? hand_back(mine, on_signal) : 0;
  if (!any_sent_for_good.load(relaxed)) current_handler.store(nullptr, release);
  return error;
}

bool send_pause_signal(int tid) noexcept {
  siginfo_t information;
  std::memset(&information, 0, sizeof information);
  information.si_code = SI_QUEUE;
  information.si_pid = ::getpid();
  information.si_uid = ::getuid();
  information.si_value.sival_ptr = &mark_of_ours;
  int const errno_before = errno;
  bool const sent =
      ::syscall(SYS_rt_tgsigqueueinfo, information.si_pid, tid, number_in_use.load(relaxed), &information) == 0;
  errno = errno_before;
  return sent;
}

// The timer is never deleted: it is the thread that ends, or sleeps for good.
bool keep_sending_pause_signals(int tid) noexcept {
  constexpr long every_ns = 1'000'000;  // or the kernel's tick, which is longer
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event._sigev_un._tid = tid;
  event.sigev_signo = number_in_use.load(relaxed);
  event.sigev_value.sival_ptr = &mark_of_ours;
  itimerspec const often{{0, every_ns}, {0, every_ns}};
  int timer = 0;  // the kernel's: libc would allocate to remember its own
  int const errno_before = errno;
  bool const is_set = ::syscall(SYS_timer_create, cpu_clock_of(tid), &event, &timer) == 0 &&
                      ::syscall(SYS_timer_settime, timer, 0, &often, nullptr) == 0;
  if (is_set) {  // relaxed: whoever ends and starts runs does so one after the other
    sent_for_good[number_in_use.load(relaxed)].store(true, relaxed);
    any_sent_for_good.store(true, relaxed);
  }
  errno = errno_before;
  return is_set;
}

}  // namespace thrum::rt::os
