#include "os/process.h"

#include "base/platform.h"
#include "os/fault.h"
#include "os/kernel.h"
#include "os/repeat.h"
#include "os/signal_set.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 34)
#error "thrum needs the GNU C library 2.34 or newer, because it uses posix_spawn_file_actions_addclosefrom_np"
#endif

namespace thrum::rt::os {
namespace {

// Keeps the first error of a series of calls that return 0 or an error.
class first_error {
 public:
  void see(int error) noexcept {
    if (error_ == 0) error_ = error;
  }
  [[nodiscard]] int get() const noexcept { return error_; }

 private:
  int error_ = 0;
};

struct spawn_actions {
  posix_spawn_file_actions_t list{};
  first_error error;

  spawn_actions() noexcept { error.see(::posix_spawn_file_actions_init(&list)); }
  ~spawn_actions() { ::posix_spawn_file_actions_destroy(&list); }
  spawn_actions(spawn_actions const&) = delete;
  spawn_actions& operator=(spawn_actions const&) = delete;

  void make_stream(int number, int what) noexcept {
    if (what == child_stream_is::inherited) return;
    if (what == child_stream_is::null_device) {
      error.see(::posix_spawn_file_actions_addopen(&list, number, "/dev/null", O_RDWR, 0));
    } else {
      int const from = what == child_stream_is::as_output ? STDOUT_FILENO : what;
      error.see(::posix_spawn_file_actions_adddup2(&list, from, number));
    }
  }
};

struct spawn_attributes {
  posix_spawnattr_t all{};
  first_error error;

  spawn_attributes() noexcept {
    sigset_t const broken_pipe = only(SIGPIPE);
    sigset_t none;
    ::sigemptyset(&none);
    error.see(::posix_spawnattr_init(&all));
    error.see(::posix_spawnattr_setsigmask(&all, &none));
    error.see(::posix_spawnattr_setsigdefault(&all, &broken_pipe));
    error.see(::posix_spawnattr_setflags(&all, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }
  ~spawn_attributes() { ::posix_spawnattr_destroy(&all); }
  spawn_attributes(spawn_attributes const&) = delete;
  spawn_attributes& operator=(spawn_attributes const&) = delete;
};

// P_PIDFD of <sys/wait.h>, which some C libraries do not have.
constexpr auto by_pidfd = static_cast<idtype_t>(3);

int wait_id(child_name child, siginfo_t& about, int options) noexcept {
  bool const has_pidfd = child.pidfd >= 0;
  about.si_pid = 0;
  return static_cast<int>(repeat(call::wait_id, [&] {
    return ::waitid(has_pidfd ? by_pidfd : P_PID, static_cast<id_t>(has_pidfd ? child.pidfd : child.pid), &about,
                    options);
  }));
}

}  // namespace

THRUM_OPAQUE int spawn(spawn_request const& wanted) noexcept {
  if (int injected = 0; should_fail(call::spawn, injected)) return -injected;
  int const errno_before = errno;
  spawn_actions actions;
  spawn_attributes attributes;
  for (int number = 0; number < 3; ++number) actions.make_stream(number, wanted.streams[number]);
  if (wanted.directory != nullptr) {
    actions.error.see(::posix_spawn_file_actions_addchdir_np(&actions.list, wanted.directory));
  }
  if (wanted.closes_others) actions.error.see(::posix_spawn_file_actions_addclosefrom_np(&actions.list, 3));
  actions.error.see(attributes.error.get());
  int error = actions.error.get();
  pid_t pid = 0;
  if (error == 0) {
    error =
        ::posix_spawnp(&pid, wanted.arguments[0], &actions.list, &attributes.all, wanted.arguments, wanted.environment);
  }
  errno = errno_before;
  return error != 0 ? -error : pid;
}

THRUM_OPAQUE int open_pidfd(int pid) noexcept {
  int const made = static_cast<int>(repeat(call::pidfd, [=] { return ::syscall(SYS_pidfd_open, pid, 0); }));
  if (made < 0) return made == -ESRCH ? -ECHILD : made;
  siginfo_t about{};
  int const seen = wait_id({pid, made}, about, WEXITED | WNOHANG | WNOWAIT);  // does not collect the end
  if (seen >= 0) return made;
  kernel::close(made);
  return seen == -EINVAL ? -ENOSYS : seen;  // Linux 5.3 has pidfd_open, but waitid does not take a pidfd
}

THRUM_OPAQUE int look_at_child(child_name child, child_look how, child_end& out) noexcept {
  siginfo_t about{};
  int const failed = wait_id(child, about, WEXITED | WNOHANG | (how == child_look::leave ? WNOWAIT : 0));
  if (failed < 0) return failed;
  if (about.si_pid == 0) return 0;
  bool const exited = about.si_code == CLD_EXITED;
  out = {exited ? about.si_status : 0, exited ? 0 : about.si_status, about.si_code == CLD_DUMPED};
  return 1;
}

// Waits by process id. A pidfd that was in the poller is non-blocking, and it can be readable while the end cannot be
// collected.
THRUM_OPAQUE int wait_for_child(int pid) noexcept {
  siginfo_t about{};
  return wait_id({pid, -1}, about, WEXITED | WNOWAIT);
}

THRUM_OPAQUE int signal_child(child_name child, int signal) noexcept {
  return static_cast<int>(repeat(call::kill, [=]() -> long {
    if (child.pidfd < 0) return ::kill(child.pid, signal);
    return ::syscall(SYS_pidfd_send_signal, child.pidfd, signal, nullptr, 0);
  }));
}

THRUM_OPAQUE int open_blocking_pipe(int (&ends)[2]) noexcept {
  return static_cast<int>(repeat(call::pipe, [&] { return ::pipe2(ends, O_CLOEXEC); }));
}

THRUM_OPAQUE int duplicate(int fd) noexcept {
  return static_cast<int>(repeat(call::duplicate, [=] { return ::fcntl(fd, F_DUPFD_CLOEXEC, 3); }));
}

char* const* whole_environment() noexcept { return environ; }

bool call_in_children_of_fork(void (*f)() noexcept) noexcept { return ::pthread_atfork(nullptr, nullptr, f) == 0; }

// AT_RANDOM is the address of some bytes that the kernel has put at the very top of the process's first stack. The
// kernel leaves at least 128 MiB below the top free of mappings, so other stacks are further away. The thread whose tid
// is the process id may have another stack, in a child of fork.
stack_beyond_fork stack_beyond_fork::of_this_thread() noexcept {
  constexpr std::uintptr_t reach = 128UL * 1024 * 1024;
  auto const here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return {::pthread_self(), ::getauxval(AT_RANDOM) - here < reach};
}

bool stack_beyond_fork::is_kept_in_child() const noexcept {
  return is_made_by_kernel || ::pthread_equal(thread, ::pthread_self()) != 0;
}

}  // namespace thrum::rt::os
