#include "os/thread.h"

#include "base/check.h"
#include "os/fault.h"
#include "os/short_wait.h"
#include "os/thread_list.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

// libc sets the new thread's mask before any of its code runs (glibc 2.32). The alternative, an entry function that
// sets the mask itself, would need a record that outlives this call, and so an allocation or a handshake per thread.
int create_with_mask(pthread_t& out, sigset_t const& mask, void* (*entry)(void*), void* argument) noexcept {
  pthread_attr_t attributes;
  int error = ::pthread_attr_init(&attributes);
  if (error != 0) return error;
  error = ::pthread_attr_setsigmask_np(&attributes, &mask);
  if (error == 0) error = ::pthread_create(&out, &attributes, entry, argument);
  ::pthread_attr_destroy(&attributes);
  return error;
}

// Unblocks the signals of faults, because a fault whose signal is blocked ends the program without running the handler,
// which reports the reason. Signals that the creator had blocked stay blocked.
void let_in_its_own(sigset_t& blocked, sigset_t const& by_creator) noexcept {
  for (int const signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT}) {
    if (::sigismember(&by_creator, signal) == 0) ::sigdelset(&blocked, signal);
  }
}

void was_joined(int error, int const& tid) noexcept {
  if (error != 0) fatal("internal error: a thread cannot be joined; errno=%d", error);
  short_wait wait;
  while (tid != 0 && thread_is_listed(tid)) wait.pause();
}

}  // namespace

bool thread_is_listed(int tid) noexcept {
  int const errno_before = errno;
  bool const exists = ::syscall(SYS_tgkill, ::getpid(), tid, 0) == 0;
  errno = errno_before;
  return exists;
}

bool call_at_thread_end(void (*f)(void*) noexcept) noexcept {
  struct key {
    explicit key(void (*destructor)(void*) noexcept) noexcept
        : is_valid(::pthread_key_create(&handle, destructor) == 0) {}
    pthread_key_t handle{};
    bool is_valid;
  };
  static key const at_end(f);
  static int any = 0;  // its address is the value, because libc does not call the destructor for a null value
  return at_end.is_valid && ::pthread_setspecific(at_end.handle, &any) == 0;
}

int create_thread(thread& out, void* (*entry)(void*), void* argument, takes_signals which) noexcept {
  int injected = 0;
  if (should_fail(call::thread_create, injected)) return injected;
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  int error = ::pthread_sigmask(SIG_SETMASK, &all, &before);
  if (error != 0) return error;
  let_in_its_own(all, before);
  error = create_with_mask(out.handle, which == takes_signals::only_its_own ? all : before, entry, argument);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

void join_thread(thread& joined, int const& tid) noexcept { was_joined(::pthread_join(joined.handle, nullptr), tid); }

bool join_thread_if_ended(thread& joined, int const& tid) noexcept {
  int const error = ::pthread_tryjoin_np(joined.handle, nullptr);
  if (error == EBUSY) return false;
  was_joined(error, tid);
  return true;
}

void detach_thread(thread& detached) noexcept {
  int const error = ::pthread_detach(detached.handle);
  if (error != 0) fatal("internal error: a thread cannot be detached; errno=%d", error);
}

int process_id() noexcept { return ::getpid(); }

void set_thread_name(char const* name) noexcept {
  char cut[16] = {};  // the kernel's TASK_COMM_LEN, which includes the final zero
  std::strncpy(cut, name, sizeof cut - 1);
  ::pthread_setname_np(::pthread_self(), cut);  // the result is ignored, because the name is only for display
}

void yield_thread() noexcept { ::sched_yield(); }

void ask_for_short_turns() noexcept {
  // Not in libc's headers before 2.41.
  struct {
    std::uint32_t size = 48;  // SCHED_ATTR_SIZE_VER0
    std::uint32_t policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime_ns = 0;
    std::uint64_t deadline_ns = 0;
    std::uint64_t period_ns = 0;
  } own;
  int const errno_before = errno;
  // A thread with a real-time policy is prompt enough, and its policy must not change.
  if (::syscall(SYS_sched_getattr, 0, &own, sizeof own, 0) == 0 && own.policy == SCHED_OTHER) {
    own.runtime_ns = 100'000;                  // the shortest slice that the kernel accepts
    ::syscall(SYS_sched_setattr, 0, &own, 0);  // the result is ignored, because it only makes the thread more prompt
  }
  errno = errno_before;
}

void set_timer_slack_ns(unsigned long ns) noexcept {
  ::prctl(PR_SET_TIMERSLACK, ns);  // the result is ignored, because it only makes sleeps more exact
}

thread_stack_bounds current_thread_stack() noexcept {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return {nullptr, nullptr};
  void* low = nullptr;
  std::size_t bytes = 0;
  int const error = ::pthread_attr_getstack(&attributes, &low, &bytes);
  ::pthread_attr_destroy(&attributes);
  if (error != 0) return {nullptr, nullptr};
  return {static_cast<char*>(low), static_cast<char*>(low) + bytes};
}

int count_process_threads(int enough) noexcept {
  return visit_process_threads(
      enough, [](int, void*) noexcept {}, nullptr);
}

}  // namespace thrum::rt::os
