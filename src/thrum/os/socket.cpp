#include "os/socket.h"

#include "base/atomic.h"
#include "base/platform.h"
#include "os/fault.h"
#include "os/kernel.h"
#include "os/repeat.h"
#include "os/signal.h"
#include "os/signal_set.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

// The descriptor to which this thread is writing for thrum, or -1. The handler of SIGPIPE can read it, because the
// kernel sends SIGPIPE to the thread that writes.
[[gnu::tls_model("initial-exec")]] thread_local constinit int volatile writes_to = -1;

class own_write {
 public:
  explicit own_write(int fd) noexcept { writes_to = fd; }
  ~own_write() { writes_to = -1; }
  own_write(own_write const&) = delete;
  own_write& operator=(own_write const&) = delete;
};

bool is_standard_output(int fd) noexcept { return fd == STDOUT_FILENO || fd == STDERR_FILENO; }

// Whether the output has no reader. A TCP connection is left out, because a descriptor 1 or 2 that is one is not the
// standard output of a program in a shell.
bool is_broken_output(int fd) noexcept {
  pollfd one{fd, POLLOUT, 0};
  return kernel::look(one) > 0 && (one.revents & (POLLERR | POLLHUP)) != 0 && !is_tcp(fd);
}

// The handler of SIGPIPE. The signal does not say which descriptor it is about.
// - If thrum was writing to a descriptor other than 1 and 2, the write returns its error code, and the program
//   continues.
// - Any other write also returns its error code while standard output and standard error have readers.
// - If standard output or standard error is broken, the program ends as it would without a handler, because "program |
//   head -1" must end, whichever function the program prints with.
// It uses no siginfo_t, because a program that puts the handler back by signal() removes SA_SIGINFO.
THRUM_SIGNAL_ENTRY void pipe_is_broken(int signal) {
  int const fd = writes_to;
  if (fd >= 0 && !is_standard_output(fd)) return;
  int const errno_before = errno;
  if (is_broken_output(STDOUT_FILENO) || is_broken_output(STDERR_FILENO)) {
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;
    ::sigemptyset(&by_default.sa_mask);
    ::sigaction(signal, &by_default, nullptr);
    ::raise(signal);  // it is blocked until this handler returns
  }
  errno = errno_before;
}

// For system calls that have no flag like MSG_NOSIGNAL. If the peer has closed its end, the call fails or is incomplete
// and raises no SIGPIPE, whatever handler the program has. `call` returns how many of `bytes` were written, or -errno.
template <class F>
long without_signal_of_broken_pipe(int to, std::size_t bytes, F call) noexcept {
  if (is_standard_output(to)) return call();
  sigset_t const broken_pipe = only(SIGPIPE);
  sigset_t before;
  ::sigemptyset(&before);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  sigset_t pending;
  ::sigemptyset(&pending);
  if (::sigismember(&before, SIGPIPE) != 0) ::sigpending(&pending);
  long const result = call();
  if (result != static_cast<long>(bytes) && ::sigismember(&pending, SIGPIPE) == 0) {
    int const errno_before = errno;
    timespec const at_once{};
    while (::sigtimedwait(&broken_pipe, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    errno = errno_before;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}

}  // namespace

THRUM_OPAQUE void close(int fd) noexcept {
  int const errno_before = errno;
  kernel::close(fd);  // Linux has closed the descriptor even if the result is EINTR
  errno = errno_before;
}

THRUM_OPAQUE void replace(int fd, int by) noexcept {
  int const errno_before = errno;
  while (kernel::dup3(by, fd, O_CLOEXEC) < 0 && errno == EINTR) {
  }
  errno = errno_before;
}

THRUM_OPAQUE int set_nonblocking(int fd) noexcept {
  long const flags = repeat([=] { return ::fcntl(fd, F_GETFL); });
  if (flags < 0) return static_cast<int>(flags);
  if ((flags & O_NONBLOCK) != 0) return 0;
  return static_cast<int>(repeat([=] { return ::fcntl(fd, F_SETFL, flags | O_NONBLOCK); }));
}

THRUM_OPAQUE bool would_block(int fd, direction which) noexcept {
  pollfd one{fd, static_cast<short>(which == direction::read ? POLLIN | POLLRDHUP : POLLOUT), 0};
  return repeat([&] { return kernel::look(one); }) == 0;
}

THRUM_OPAQUE int socket_type(int fd) noexcept {
  int type = 0;
  int const error = get_option(fd, SOL_SOCKET, SO_TYPE, type);
  return error < 0 ? error : type;
}

THRUM_OPAQUE bool is_tcp(int fd) noexcept {
  int family = 0;
  int protocol = 0;
  return get_option(fd, SOL_SOCKET, SO_DOMAIN, family) == 0 && (family == AF_INET || family == AF_INET6) &&
         get_option(fd, SOL_SOCKET, SO_PROTOCOL, protocol) == 0 && protocol == IPPROTO_TCP;
}

THRUM_OPAQUE int open_socket(int family, int type, int protocol) noexcept {
  return static_cast<int>(
      repeat(call::socket, [=] { return ::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol); }));
}

THRUM_OPAQUE int open_socket_pair(int type, int (&ends)[2]) noexcept {
  return static_cast<int>(
      repeat(call::socket, [&] { return ::socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends); }));
}

THRUM_OPAQUE int bind(int fd, void const* address, std::uint32_t bytes) noexcept {
  return static_cast<int>(repeat([=] { return ::bind(fd, static_cast<sockaddr const*>(address), bytes); }));
}

THRUM_OPAQUE int listen(int fd, int backlog) noexcept {
  return static_cast<int>(repeat([=] { return ::listen(fd, backlog); }));
}

THRUM_OPAQUE int accept(int fd) noexcept {
  return static_cast<int>(repeat(call::accept, [=] { return kernel::accept4(fd, SOCK_NONBLOCK | SOCK_CLOEXEC); }));
}

THRUM_OPAQUE int connect(int fd, void const* address, std::uint32_t bytes) noexcept {
  if (int injected = 0; should_fail(call::connect, injected)) return -injected;
  int const errno_before = errno;
  int const result = kernel::connect(fd, static_cast<sockaddr const*>(address), bytes);
  int const error = result == 0 ? 0 : errno;
  errno = errno_before;
  return error == EINTR ? -EINPROGRESS : -error;
}

THRUM_OPAQUE int socket_error(int fd) noexcept {
  int error = 0;
  int const failed = get_option(fd, SOL_SOCKET, SO_ERROR, error);
  return failed < 0 ? failed : -error;
}

THRUM_OPAQUE int shutdown(int fd, int how) noexcept {
  return static_cast<int>(repeat([=] { return ::shutdown(fd, how); }));
}

THRUM_OPAQUE int set_option(int fd, int level, int name, int value) noexcept {
  return static_cast<int>(repeat([&] { return ::setsockopt(fd, level, name, &value, sizeof value); }));
}

THRUM_OPAQUE void reset_when_closed(int fd) noexcept {
  linger const at_once{1, 0};
  static_cast<void>(repeat([&] { return ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once); }));
}

THRUM_OPAQUE bool lingers(int fd) noexcept {
  linger asked{};
  socklen_t bytes = sizeof asked;
  return repeat([&] { return ::getsockopt(fd, SOL_SOCKET, SO_LINGER, &asked, &bytes); }) == 0 && asked.l_onoff != 0 &&
         asked.l_linger > 0;
}

THRUM_OPAQUE bool is_internet_or_unix(int fd) noexcept {
  int family = 0;
  if (get_option(fd, SOL_SOCKET, SO_DOMAIN, family) < 0) return false;
  return family == AF_INET || family == AF_INET6 || family == AF_UNIX;
}

THRUM_OPAQUE bool is_pipe(int fd) noexcept {
  struct statx what {};
  int const errno_before = errno;
  bool const is_known = ::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &what) == 0;
  errno = errno_before;
  return is_known && S_ISFIFO(what.stx_mode);
}

THRUM_OPAQUE int get_option(int fd, int level, int name, int& value) noexcept {
  socklen_t bytes = sizeof value;
  return static_cast<int>(repeat([&] { return ::getsockopt(fd, level, name, &value, &bytes); }));
}

THRUM_OPAQUE int local_address(int fd, void* address, std::uint32_t& bytes) noexcept {
  return static_cast<int>(repeat([&] { return ::getsockname(fd, static_cast<sockaddr*>(address), &bytes); }));
}

THRUM_OPAQUE int peer_address(int fd, void* address, std::uint32_t& bytes) noexcept {
  return static_cast<int>(repeat([&] { return ::getpeername(fd, static_cast<sockaddr*>(address), &bytes); }));
}

THRUM_OPAQUE long receive(int fd, void* data, std::size_t bytes) noexcept {
  return repeat(call::receive, [=] { return kernel::recv(fd, data, bytes, MSG_DONTWAIT); });
}

THRUM_OPAQUE long send(int fd, void const* data, std::size_t bytes) noexcept {
  return repeat(call::send, [=] { return kernel::send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

THRUM_OPAQUE long receive(int fd, msghdr& message) noexcept {
  return repeat(call::receive, [&] { return kernel::recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT); });
}

THRUM_OPAQUE long send(int fd, msghdr const& message) noexcept {
  return repeat(call::send, [&] { return kernel::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

THRUM_OPAQUE long receive_many(int fd, mmsghdr* messages, unsigned count) noexcept {
  return repeat(call::receive, [=] { return kernel::recvmmsg(fd, messages, count, MSG_DONTWAIT); });
}

THRUM_OPAQUE long send_many(int fd, mmsghdr* messages, unsigned count) noexcept {
  return repeat(call::send, [=] { return kernel::sendmmsg(fd, messages, count, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

THRUM_OPAQUE long read(int fd, void* data, std::size_t bytes) noexcept {
  return repeat(call::receive, [=] { return kernel::read(fd, data, bytes); });
}

THRUM_OPAQUE long write(int fd, void const* data, std::size_t bytes) noexcept {
  own_write const here(fd);
  return repeat(call::send, [=] { return kernel::write(fd, data, bytes); });
}

THRUM_OPAQUE long read(int fd, iovec const* parts, int count) noexcept {
  return repeat(call::receive, [=] { return kernel::readv(fd, parts, count); });
}

THRUM_OPAQUE long write(int fd, iovec const* parts, int count) noexcept {
  own_write const here(fd);
  return repeat(call::send, [=] { return kernel::writev(fd, parts, count); });
}

THRUM_OPAQUE long send_file(int to, int from, std::int64_t& offset, std::size_t bytes) noexcept {
  return without_signal_of_broken_pipe(to, bytes, [&] {
    return repeat(call::send, [&] {
      off_t at = offset;
      long const sent = ::sendfile(to, from, &at, bytes);
      offset = at;
      return sent;
    });
  });
}

THRUM_OPAQUE long splice(int from, int to, std::size_t bytes) noexcept {
  return without_signal_of_broken_pipe(to, bytes, [=] {
    return repeat(call::send,
                  [=] { return ::splice(from, nullptr, to, nullptr, bytes, SPLICE_F_NONBLOCK | SPLICE_F_MOVE); });
  });
}

THRUM_OPAQUE int open_pipe(int (&ends)[2]) noexcept {
  return static_cast<int>(repeat([&] { return ::pipe2(ends, O_NONBLOCK | O_CLOEXEC); }));
}

// Concurrent callers may each run all of this, so no caller waits for another. A caller that comes second finds the
// handler of the first one.
void survive_broken_pipes() noexcept {
  static constinit atomic<bool> is_done{false};
  if (is_done.load(acquire)) return;  // pairs with the store below
  struct sigaction now {};
  bool const is_default =
      ::sigaction(SIGPIPE, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
  if (is_default) {
    struct sigaction ours {};
    ours.sa_handler = pipe_is_broken;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    ::sigemptyset(&ours.sa_mask);
    ::sigaction(SIGPIPE, &ours, nullptr);
  }
  is_done.store(true, release);
}

}  // namespace thrum::rt::os
