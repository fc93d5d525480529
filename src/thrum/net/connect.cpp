#include "net/connect.h"

#include "base/check.h"
#include "net/io_call.h"
#include "net/open.h"
#include "os/clock.h"
#include "os/socket.h"
#include "wait/poll_close.h"
#include <thrum/sleep.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string>

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace thrum::rt {
namespace {

poll_kind kind_of(int type, endpoint const& at) noexcept {
  return type == SOCK_STREAM && !at.is_unix() ? poll_kind::tcp_socket : poll_kind::other_socket;
}

// Registers a descriptor that this file has opened. Closes it if that fails.
poll_desc* open_own(int fd, poll_kind kind, std::error_code& error) noexcept {
  poll_desc* const d = open_poll_desc(fd, kind, error);
  if (d == nullptr) os::close(fd);
  return d;
}

// Turns TCP keep-alive on, with Go's values. A peer that disappears without closing the connection is noticed after two
// and a half minutes; without keep-alive such a connection would stay open for good. Errors are ignored, because a
// system may not know all of these options.
void keep_alive(int fd) noexcept {
  constexpr int idle_s = 15;
  constexpr int interval_s = 15;
  constexpr int probes = 9;
  static_cast<void>(os::set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1));
  static_cast<void>(os::set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle_s));
  static_cast<void>(os::set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval_s));
  static_cast<void>(os::set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, probes));
}

int prepare(int fd, endpoint const& at, bind_options const& chosen, bool& is_bound) noexcept {
  int failed = 0;
  auto const set = [&](bool wanted, int level, int name, int value) {
    if (failed == 0 && wanted) failed = os::set_option(fd, level, name, value);
  };
  set(chosen.reuse_addr && !at.is_unix(), SOL_SOCKET, SO_REUSEADDR, 1);
  set(chosen.reuse_port, SOL_SOCKET, SO_REUSEPORT, 1);
  set(at.is_v6(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  set(chosen.no_delay && !at.is_unix(), IPPROTO_TCP, TCP_NODELAY, 1);  // accepted sockets inherit this and keep-alive
  if (chosen.keep_alive && !at.is_unix()) keep_alive(fd);
  if (failed == 0) failed = os::bind(fd, at.data(), at.size());
  is_bound = failed == 0;
  if (failed == 0 && chosen.backlog > 0) failed = os::listen(fd, chosen.backlog);
  return failed;
}

// Removes the file that bind has created for a unix socket, because a later step failed.
void remove_file_of(endpoint const& at) {
  std::string const path = at.is_unix() ? at.host() : std::string();
  if (!path.empty() && path.front() != '@') std::remove(path.c_str());
}

// Returns -ECONNREFUSED if a TCP socket is connected to itself, otherwise 0. A client that dials a port of this machine
// on which no program listens may be given that very port as its own. TCP then connects the socket to itself (a
// simultaneous open), and the client reads what it wrote. The system never gives a client a port on which a program
// listens, so "refused" is correct. The connection is reset, because its port would otherwise stay taken for a minute
// (TIME_WAIT), and the server that the client waits for could not listen on it.
//
// Go closes such a connection without an error and dials up to two more times, and then gives the program the
// connection to itself. A second try could only be refused or be connected to itself again, unless a server begins to
// listen between the two. So thrum reports the error at once, as it does when the first try is refused.
int refuse_itself(int fd, poll_kind kind) noexcept {
  if (kind != poll_kind::tcp_socket) return 0;
  endpoint here;
  endpoint there;
  std::uint32_t here_bytes = endpoint::capacity();
  std::uint32_t there_bytes = endpoint::capacity();
  if (os::local_address(fd, here.data(), here_bytes) < 0 || os::peer_address(fd, there.data(), there_bytes) < 0) {
    return 0;
  }
  here.resize(here_bytes);
  there.resize(there_bytes);
  if (here != there) return 0;
  os::reset_when_closed(fd);
  return -ECONNREFUSED;
}

bool is_want_of_resources(std::error_code const& error) noexcept {
  return error == std::errc::too_many_files_open || error == std::errc::too_many_files_open_in_system ||
         error == std::errc::no_buffer_space || error == std::errc::not_enough_memory;
}

// The errors with which accept(2) reports a connection that broke before it was accepted, or that a firewall forbids.
// That connection is gone, and the next one can be accepted.
bool is_of_one_client(int error) noexcept {
  switch (error) {
    case ECONNABORTED:
    case ECONNRESET:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case ETIMEDOUT:
    case ENOSR:
    case ESOCKTNOSUPPORT:
    case EPROTONOSUPPORT:
    case EPERM: return true;
    default: return false;
  }
}

int accept_one(int from) noexcept {
  // More than a backlog holds, so an error that comes so often in a row is not about single clients.
  constexpr int broken_max = 10'000;
  for (int broken = 1;; ++broken) {
    int const taken = os::accept(from);
    if (taken >= 0 || !is_of_one_client(-taken) || broken == broken_max) return taken;
  }
}

void say_once(std::error_code const& error) noexcept {
  static constinit atomic<bool> said{false};
  if (said.exchange(true, relaxed)) return;  // relaxed: the flag publishes no other data
  print_error(
      "thrum: accept failed with errno %d, because no descriptor or no memory is left. It waits and tries again. "
      "Raise the limit of open files (ulimit -n) if need be. This message is printed once",
      error.value());
}

}  // namespace

std::int64_t moment_after(std::int64_t ns) noexcept {
  if (ns == never_poll) return never_poll;
  std::int64_t const now_ns = os::monotonic_ns();
  if (ns <= 0) return 1;
  return ns < never_poll - now_ns ? now_ns + ns : never_poll;
}

namespace {

poll_desc* try_to_open_bound(int type, endpoint const& at, bind_options const& chosen, std::error_code& error) {
  error.clear();
  int const fd = os::open_socket(at.family(), type, 0);
  bool is_bound = false;
  int const failed = fd < 0 ? fd : prepare(fd, at, chosen, is_bound);
  poll_desc* made = nullptr;
  if (failed == 0) {
    made = open_own(fd, kind_of(type, at), error);
  } else {
    if (fd >= 0) os::close(fd);
    error = system_error_of(-failed);
  }
  if (made == nullptr && is_bound) remove_file_of(at);
  return made;
}

}  // namespace

poll_desc* open_bound(int type, endpoint const& at, bind_options const& chosen, std::error_code& error) {
  using namespace std::chrono_literals;
  // If a socket is closed while a call on another thread is inside the kernel with it, its address becomes free a
  // moment later. So "address in use" is tried again for up to 100 ms. The wait is bounded, because a server that
  // closes such sockets all the time would otherwise never learn that the address is taken.
  std::int64_t const give_up_ns = os::monotonic_ns() + 100'000'000;
  for (std::chrono::nanoseconds pause = 50us;; pause = std::min<std::chrono::nanoseconds>(pause * 2, 10ms)) {
    poll_desc* const made = try_to_open_bound(type, at, chosen, error);
    if (error != std::errc::address_in_use || !was_closed_in_use_lately() || os::monotonic_ns() >= give_up_ns) {
      return made;
    }
    sleep_for(pause);
  }
}

bool is_want_of_family(std::error_code const& error) noexcept {
  return error == std::errc::address_family_not_supported || error == std::errc::address_not_available ||
         error == std::errc::protocol_not_supported;
}

poll_desc* accept_next(poll_desc* listener, poll_kind kind, std::error_code& error) {
  using namespace std::chrono_literals;
  constexpr auto pause_max = 100ms;  // a close or a deadline is noticed after at most this long
  auto pause = 1ms;
  for (;; pause = std::min<std::chrono::milliseconds>(pause * 2, pause_max)) {
    {
      io_call call(listener, poll_side_name::read, error);
      if (!call) return nullptr;
      long const fd = call.perform(0, error, accept_one);
      if (!error) {
        if (poll_desc* const d = open_own(static_cast<int>(fd), kind, error)) return d;
      }
      if (!is_want_of_resources(error)) return nullptr;
    }
    say_once(error);
    sleep_for(pause);
  }
}

poll_desc* begin_connect(int type, endpoint const& to, bool& is_done, std::error_code& error) {
  error.clear();
  int const fd = os::open_socket(to.family(), type, 0);
  if (fd < 0) {
    error = system_error_of(-fd);
    return nullptr;
  }
  if (kind_of(type, to) == poll_kind::tcp_socket) {
    static_cast<void>(os::set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1));
    keep_alive(fd);
  }
  int result = os::connect(fd, to.data(), to.size());
  if (result == 0) result = refuse_itself(fd, kind_of(type, to));
  is_done = result == 0;
  if (result == 0 || result == -EINPROGRESS) return open_own(fd, kind_of(type, to), error);
  os::close(fd);
  error = system_error_of(-result);
  return nullptr;
}

void end_connect(poll_desc* d, std::int64_t until_ns, std::error_code& error) {
  if (until_ns != never_poll) {
    short_use const open(d, error);
    if (!open) return;
    if (!set_poll_deadline(*d, poll_side_name::write, until_ns)) {
      error = system_error_of(ENOMEM);
      return;
    }
  }
  io_call call(d, poll_side_name::write, error);
  if (!call) return;
  static_cast<void>(call.perform(0, error, [kind = d->kind](int fd) -> long {
    if (int const failed = os::socket_error(fd)) return failed;
    endpoint there;
    std::uint32_t bytes = endpoint::capacity();
    int const result = os::peer_address(fd, there.data(), bytes);
    if (result == -ENOTCONN) return -EAGAIN;  // the wake-up came before the connection was made
    return result < 0 ? result : refuse_itself(fd, kind);
  }));
  if (until_ns != never_poll && !error) {
    static_cast<void>(set_poll_deadline(*d, poll_side_name::write, no_poll_deadline));
  }
}

poll_desc* open_connected(int type, endpoint const& to, std::int64_t until_ns, std::error_code& error) {
  bool is_done = false;
  poll_desc* const d = begin_connect(type, to, is_done, error);
  if (d == nullptr || is_done) return d;
  try {
    end_connect(d, until_ns, error);
  } catch (...) {  // there is no runtime in which the call could wait, or no memory
    drop_poll_desc(*d);
    throw;
  }
  if (!error) return d;
  drop_poll_desc(*d);
  return nullptr;
}

}  // namespace thrum::rt
