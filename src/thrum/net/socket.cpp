// thrum::basic_socket (thrum/socket.h): addresses, shutdown and options. None of these calls waits.
#include "os/socket.h"

#include "net/io_call.h"
#include <thrum/socket.h>

namespace thrum {

using namespace rt;

namespace {

std::error_code outcome(int result) noexcept { return result < 0 ? system_error_of(-result) : std::error_code(); }

template <class Ask>
endpoint ask_for_endpoint(poll_desc* desc, std::error_code& error, Ask ask) noexcept {
  endpoint answer;
  short_use const d(desc, error);
  if (!d) return answer;
  std::uint32_t bytes = endpoint::capacity();
  error = outcome(ask(d->fd, answer.data(), bytes));
  answer.resize(error ? 0 : bytes);
  return answer;
}

}  // namespace

endpoint basic_socket::local_endpoint(std::error_code& error) const noexcept {
  return ask_for_endpoint(desc_, error, os::local_address);
}

endpoint basic_socket::remote_endpoint(std::error_code& error) const noexcept {
  return ask_for_endpoint(desc_, error, os::peer_address);
}

void basic_socket::shutdown_write(std::error_code& error) noexcept {
  short_use const d(desc_, error);
  if (d) error = outcome(os::shutdown(d->fd, SHUT_WR));
}

void basic_socket::shutdown_read(std::error_code& error) noexcept {
  short_use const d(desc_, error);
  if (d) error = outcome(os::shutdown(d->fd, SHUT_RD));
}

void basic_socket::set_option(int level, int name, int value, std::error_code& error) noexcept {
  short_use const d(desc_, error);
  if (d) error = outcome(os::set_option(d->fd, level, name, value));
}

void basic_socket::set_read_buffer(int bytes, std::error_code& error) noexcept {
  set_option(SOL_SOCKET, SO_RCVBUF, bytes, error);
}

void basic_socket::set_write_buffer(int bytes, std::error_code& error) noexcept {
  set_option(SOL_SOCKET, SO_SNDBUF, bytes, error);
}

}  // namespace thrum
