#include "os/pause_signal.h"

#include "base/atomic.h"
#include "os/sample_signal.h"
#include "os/signal.h"
#include "os/signal_chain.h"
#include "os/thread_state.h"

#include <cstring>

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

// Never reset, because a signal may come after the end of a run. The handler does nothing on a thread that is not
// thrum's.
constinit atomic<pause_handler> current_handler{nullptr};
constinit atomic<int> number_in_use{0};
// relaxed: a sender sets it before it sends a signal without the tag, and the handler of that signal reads it.
constinit atomic<bool> tags_are_refused{false};
constinit atomic<bool> kept_for_good[_NSIG];  // relaxed: runs start and end one after the other
// The address of this variable is the tag that thrum's signals carry. No other process can know the address, and no
// other code of this process uses it.
char tag_of_ours;

// If a run finds an action of the program where an earlier run left thrum's action, it takes the signal over once more,
// on top of the program's action. Each such layer has a handler function of its own, because the program's handler may
// pass signals on to the handler below it. If both of thrum's layers had the same function, the two handlers would call
// each other forever.
constexpr int layers = 4;
// Indexed by layer and signal number. A signal whose entry an earlier run left linked may be sent in a later run, too.
constinit chained_signal handled[layers][_NSIG];

template <int Layer>
THRUM_SIGNAL_ENTRY void on_signal(int number, siginfo_t* information, void* context) {
  int const errno_before = errno;
  if (answer_sample_timer(*information, context)) {
    errno = errno_before;
    return;
  }
  chained_signal& below = handled[Layer][number];
  bool const may_be_ours = information->si_code == SI_QUEUE || information->si_code == SI_TIMER;
  bool const is_ours = may_be_ours && information->si_value.sival_ptr == &tag_of_ours;
  // If too many signals are pending in the system, the kernel delivers a signal without its siginfo. If a sandbox
  // refuses tags, thrum's signals come without them. In both cases the signal may be the program's as well.
  bool const has_lost_its_mark = information->si_code == SI_USER && information->si_pid == 0;
  bool const came_without =
      information->si_code == SI_TKILL && tags_are_refused.load(relaxed) && information->si_pid == ::getpid();
  bool const may_be_anothers = has_lost_its_mark || came_without;
  if (is_ours || may_be_anothers) {
    // Pairs with the release in install_pause_signal, so that everything that the handler relies on is visible here.
    current_handler.load(acquire)(context);
  }
  if (!is_ours && (!may_be_anothers || has_handler(below))) pass_on(below, information, context);
  errno = errno_before;
}

constexpr signal_entry entries[layers] = {on_signal<0>, on_signal<1>, on_signal<2>, on_signal<3>};

// Compares the function and not the flags, because a program that puts the action back by signal() restores only the
// function.
bool is_ours(struct sigaction const& action, int layer) noexcept { return action.sa_sigaction == entries[layer]; }

// Chooses the layer for a new run, in this order:
// 1. The layer whose action is in force.
// 2. The topmost linked layer, if it was put on top of the very handler that is in force. This happens if the program
//    sets its handler in every run.
// 3. A new layer above all linked ones. The result is `layers` if there is none.
int layer_to_use(int number, struct sigaction const& in_force) noexcept {
  for (int i = 0; i < layers; ++i) {
    if (is_ours(in_force, i)) return i;
  }
  int above_all = layers;
  while (above_all > 0 && !handled[above_all - 1][number].linked) --above_all;
  bool const is_known = above_all > 0 && handled[above_all - 1][number].previous.sa_handler == in_force.sa_handler;
  return is_known ? above_all - 1 : above_all;
}

}  // namespace

int install_pause_signal(int signal, pause_handler handler) noexcept {
  if (signal <= 0 || signal >= _NSIG) return EINVAL;
  struct sigaction in_force {};
  if (int const error = look_at_action(signal, in_force)) return error;
  current_handler.store(handler, release);  // pairs with the acquire load in on_signal
  int const layer = layer_to_use(signal, in_force);
  if (layer == layers) return EBUSY;
  chained_signal& mine = handled[layer][signal];
  mine.number = signal;
  constexpr int flags = SA_ONSTACK | SA_RESTART;
  int const error = is_ours(in_force, layer) ? put_in_force(mine, entries[layer], flags)
                                             : take_over(mine, in_force, entries[layer], flags);
  if (error == 0) number_in_use.store(signal, relaxed);  // ordered by the creation of the threads that send it
  return error;
}

int remove_pause_signal(still_sent some) noexcept {
  int const number = number_in_use.load(relaxed);
  if (some == still_sent::for_good) kept_for_good[number].store(true, relaxed);
  if (some != still_sent::no || pause_signal_is_kept(number)) return 0;
  struct sigaction in_force {};
  if (int const error = look_at_action(number, in_force)) return error;
  for (int layer = 0; layer < layers; ++layer) {
    if (!is_ours(in_force, layer)) continue;
    int const error = hand_back(handled[layer][number], entries[layer]);
    // The program has put this layer's action back into force, so the layers above it are out of use.
    for (int above = layer + 1; error == 0 && above < layers; ++above) handled[above][number].linked = false;
    return error;
  }
  return EBUSY;
}

bool pause_signal_is_kept(int number) noexcept { return kept_for_good[number].load(relaxed); }

bool send_pause_signal(int tid) noexcept {
  siginfo_t information;
  std::memset(&information, 0, sizeof information);
  information.si_code = SI_QUEUE;
  information.si_pid = ::getpid();
  information.si_uid = ::getuid();
  information.si_value.sival_ptr = &tag_of_ours;
  int const errno_before = errno;
  int const number = number_in_use.load(relaxed);
  bool sent = ::syscall(SYS_rt_tgsigqueueinfo, information.si_pid, tid, number, &information) == 0;
  // A sandbox may allow tgkill, which raise and abort use, and refuse rt_tgsigqueueinfo.
  if (!sent && (errno == EPERM || errno == ENOSYS || errno == EACCES)) {
    tags_are_refused.store(true, relaxed);
    sent = ::syscall(SYS_tgkill, information.si_pid, tid, number) == 0;
  }
  errno = errno_before;
  return sent;
}

namespace {

constexpr int no_timer = -1;

// Makes a timer on the thread's CPU clock that sends the signal to the thread, and returns the kernel's number of the
// timer. It makes the system call itself, because the C library's timer_create allocates memory.
int make_timer(int tid) noexcept {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event._sigev_un._tid = tid;
  event.sigev_signo = number_in_use.load(relaxed);
  event.sigev_value.sival_ptr = &tag_of_ours;
  int timer = no_timer;
  return ::syscall(SYS_timer_create, cpu_clock_of(tid), &event, &timer) == 0 ? timer : no_timer;
}

bool set_timer(int timer, itimerspec const& when) noexcept {
  return ::syscall(SYS_timer_settime, timer, 0, &when, nullptr) == 0;
}

}  // namespace

// The timer is never deleted, because the thread ends or sleeps for good.
bool keep_sending_pause_signals(int tid) noexcept {
  constexpr long every_ns = 1'000'000;  // if the kernel's tick is longer, the kernel sends at each tick
  int const errno_before = errno;
  int const timer = make_timer(tid);
  bool const is_set = timer != no_timer && set_timer(timer, {{0, every_ns}, {0, every_ns}});
  errno = errno_before;
  return is_set;
}

bool pause_timer::send_at_next_tick(int tid) noexcept {
  constexpr itimerspec soon{{0, 0}, {0, 1}};
  if (tid == 0) return false;  // the kernel would take 0 for the calling thread
  if (tid != tid_) close();
  int const errno_before = errno;
  bool is_set = timer_ != no_timer && set_timer(timer_, soon);
  if (!is_set) {  // there was no timer, or it belongs to a thread that has ended and whose tid another thread has taken
    close();
    timer_ = make_timer(tid);
    tid_ = tid;
    is_set = timer_ != no_timer && set_timer(timer_, soon);
  }
  errno = errno_before;
  if (!is_set) close();
  return is_set;
}

void pause_timer::close() noexcept {
  int const errno_before = errno;
  if (timer_ != no_timer) ::syscall(SYS_timer_delete, timer_);
  errno = errno_before;
  timer_ = no_timer;
  tid_ = 0;
}

std::int64_t tick_ns() noexcept {
  timespec tick{};
  return ::clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 ? tick.tv_sec * 1'000'000'000LL + tick.tv_nsec : 0;
}

}  // namespace thrum::rt::os
