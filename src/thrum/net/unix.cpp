// Unix sockets (thrum/unix.h).
#include "net/address.h"
#include "net/connect.h"
#include "net/io_call.h"
#include "net/open.h"
#include "os/clock.h"
#include "os/socket.h"
#include <thrum/sleep.h>
#include <thrum/unix.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>

namespace thrum {

using namespace rt;

namespace {

int type_of(unix_type type) noexcept { return type == unix_type::stream ? SOCK_STREAM : SOCK_SEQPACKET; }

constexpr int backlog_max = 4096;

}  // namespace

unix_conn unix_conn::dial(std::string_view path, unix_type type, std::chrono::nanoseconds timeout,
                          std::error_code& error) {
  using namespace std::chrono_literals;
  unix_conn made;
  std::int64_t const until_ns = moment_after(timeout.count());
  endpoint const to = endpoint::unix_path(path, error);
  // If the listener's backlog is full, connect fails with EAGAIN, and no event says when there is space. So the loop
  // pauses and tries again.
  for (std::chrono::nanoseconds pause = 100us; !error; pause = std::min<std::chrono::nanoseconds>(pause * 2, 10ms)) {
    made.desc_ = open_connected(type_of(type), to, until_ns, error);
    if (error != std::errc::resource_unavailable_try_again) break;
    std::int64_t const left_ns = until_ns - os::monotonic_ns();
    error = left_ns > 0 ? std::error_code() : error_of(poll_outcome::timed_out);
    if (!error) sleep_for(std::min(pause, std::chrono::nanoseconds(left_ns)));
  }
  return made;
}

std::pair<unix_conn, unix_conn> unix_conn::pair(unix_type type, std::error_code& error) {
  std::pair<unix_conn, unix_conn> made;
  int ends[2]{};
  if (int const failed = os::open_socket_pair(type_of(type), ends)) {
    error = system_error_of(-failed);
    return made;
  }
  made.first.desc_ = open_poll_desc(ends[0], poll_kind::other_socket, error);
  if (!error) made.second.desc_ = open_poll_desc(ends[1], poll_kind::other_socket, error);
  if (made.first.desc_ == nullptr) os::close(ends[0]);
  if (made.second.desc_ == nullptr) {
    os::close(ends[1]);
    made = {};
  }
  return made;
}

unix_listener::unix_listener(unix_listener&& other) noexcept
    : basic_socket(std::move(other)), type_(other.type_), path_(std::exchange(other.path_, {})) {}

unix_listener& unix_listener::operator=(unix_listener&& other) noexcept {
  unix_listener old(std::move(*this));
  type_ = other.type_;
  path_ = std::exchange(other.path_, {});
  basic_socket::operator=(std::move(other));
  return *this;
}

unix_listener::~unix_listener() {
  if (!path_.empty()) std::remove(path_.c_str());
}

unix_listener unix_listener::listen(std::string_view path, unix_type type, std::error_code& error) {
  unix_listener made;
  made.type_ = type;
  endpoint const at = endpoint::unix_path(path, error);
  std::string kept(path);  // Allocated before bind creates the file, so that no exception leaves the file behind.
  if (!error) made.desc_ = open_bound(type_of(type), at, {.backlog = backlog_max}, error);
  if (!error && !is_abstract_path(path)) made.path_ = std::move(kept);
  return made;
}

unix_conn unix_listener::accept(std::error_code& error) {
  unix_conn next;
  next.desc_ = accept_next(desc_, poll_kind::other_socket, error);
  return next;
}

unix_datagram unix_datagram::bind(std::string_view path, std::error_code& error) {
  unix_datagram made;
  endpoint const at = endpoint::unix_path(path, error);
  if (!error) made.desc_ = open_bound(SOCK_DGRAM, at, {}, error);
  return made;
}

unix_datagram unix_datagram::connect(std::string_view path, std::error_code& error) {
  unix_datagram made;
  endpoint const to = endpoint::unix_path(path, error);
  if (!error) made.desc_ = open_connected(SOCK_DGRAM, to, never_poll, error);
  return made;
}

}  // namespace thrum
