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

constinit atomic<pause_handler> current_handler{
    nullptr};  // never taken back: a thread that is not ours does nothing in it
constinit atomic<int> number_in_use{0};
constinit atomic<bool> sent_for_good[_NSIG];  // by timers: a run that comes later must not give that number back
char
    mark_of_ours;  // its address is what our signals carry: no other process can know it, no other code of this one uses it

// A run that finds an action of the program's where an earlier one left ours takes the number over anew, on top of it. As a function
// of its own, since the program's may pass on to the one below: the same again would be a circle.
constexpr int layers = 4;
constinit chained_signal handled[layers][_NSIG];  // by their numbers: one that was left linked may still be sent

template <int Layer>
THRUM_SIGNAL_ENTRY void on_signal(int number, siginfo_t* information, void* context) {
  int const errno_before = errno;
  bool const may_be_ours = information->si_code == SI_QUEUE || information->si_code == SI_TIMER;
  if (may_be_ours && information->si_value.sival_ptr == &mark_of_ours) {
    current_handler.load(acquire)(context);  // pairs with install_pause_signal: what it relies on was written before
  } else {
    pass_on(handled[Layer][number], information, context);
  }
  errno = errno_before;
}

constexpr signal_entry entries[layers] = {on_signal<0>, on_signal<1>, on_signal<2>, on_signal<3>};

int layer_of(struct sigaction const& action) noexcept {
  bool const has_information = (action.sa_flags & SA_SIGINFO) != 0;
  for (int i = 0; has_information && i < layers; ++i) {
    if (action.sa_sigaction == entries[i]) return i;
  }
  return -1;
}

int layer_above_all(int number) noexcept {
  int layer = layers;
  while (layer > 0 && !handled[layer - 1][number].linked) --layer;
  return layer;
}

}  // namespace

int install_pause_signal(int signal, pause_handler handler) noexcept {
  if (signal <= 0 || signal >= _NSIG) return EINVAL;
  struct sigaction in_force {};
  if (int const error = look_at_action(signal, in_force)) return error;
  current_handler.store(handler, release);  // pairs with on_signal
  number_in_use.store(signal, relaxed);     // ordered by the creation of whoever sends
  if (layer_of(in_force) >= 0) return 0;    // since an earlier run
  int const layer = layer_above_all(signal);
  if (layer == layers) return EBUSY;
  handled[layer][signal].number = signal;
  return take_over(handled[layer][signal], entries[layer], SA_ONSTACK | SA_RESTART);
}

int remove_pause_signal(still_sent some) noexcept {
  int const number = number_in_use.load(relaxed);
  if (some == still_sent::perhaps || sent_for_good[number].load(relaxed)) return 0;
  struct sigaction in_force {};
  if (int const error = look_at_action(number, in_force)) return error;
  int const layer = layer_of(in_force);
  if (layer < 0) return EBUSY;
  // Whoever put this one back has taken those above it out.
  for (int above = layer + 1; above < layers; ++above) handled[above][number].linked = false;
  return hand_back(handled[layer][number], entries[layer]);
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
  // relaxed: whoever ends and starts runs does so one after the other
  if (is_set) sent_for_good[number_in_use.load(relaxed)].store(true, relaxed);
  errno = errno_before;
  return is_set;
}

}  // namespace thrum::rt::os
