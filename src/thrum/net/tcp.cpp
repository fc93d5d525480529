// thrum::tcp_conn and thrum::tcp_listener (thrum/tcp.h). Dialling a name is in net/dial.cpp.
#include "net/address.h"
#include "net/connect.h"
#include "net/io_call.h"
#include "net/resolve.h"
#include "os/socket.h"
#include <thrum/tcp.h>

#include <algorithm>

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace thrum {

using namespace rt;

tcp_conn tcp_conn::dial(endpoint const& to, std::chrono::nanoseconds timeout, std::error_code& error) {
  tcp_conn made;
  made.desc_ = open_connected(SOCK_STREAM, to, moment_after(timeout.count()), error);
  return made;
}

void tcp_conn::set_no_delay(bool on, std::error_code& error) noexcept {
  set_option(IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0, error);
}

void tcp_conn::set_keep_alive(std::chrono::seconds idle, std::error_code& error) noexcept {
  int const seconds = static_cast<int>(std::clamp<std::int64_t>(idle.count(), 0, 32767));  // the kernel's maximum
  set_option(SOL_SOCKET, SO_KEEPALIVE, seconds > 0 ? 1 : 0, error);
  if (error || seconds == 0) return;
  set_option(IPPROTO_TCP, TCP_KEEPIDLE, seconds, error);
  if (!error) set_option(IPPROTO_TCP, TCP_KEEPINTVL, seconds, error);
}

tcp_listener tcp_listener::listen(std::string_view address, listen_options chosen, std::error_code& error) {
  tcp_listener made;
  bind_options const asked{.reuse_addr = chosen.reuse_addr,
                           .reuse_port = chosen.reuse_port,
                           .no_delay = true,
                           .keep_alive = true,
                           .backlog = std::max(chosen.backlog, 1)};
  for (endpoint const& at : resolve_to_listen(address, error)) {
    made.desc_ = open_bound(SOCK_STREAM, at, asked, error);
    if (made.desc_ != nullptr || !is_want_of_family(error)) break;
  }
  return made;
}

tcp_conn tcp_listener::accept(std::error_code& error) {
  tcp_conn next;
  next.desc_ = accept_next(desc_, poll_kind::tcp_socket, error);
  return next;
}

}  // namespace thrum
