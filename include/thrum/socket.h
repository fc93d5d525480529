// basic_socket: what all connected sockets have in addition to fd.
#pragma once

#include <thrum/endpoint.h>
#include <thrum/fd.h>

#include <chrono>
#include <cstdint>
#include <system_error>

namespace thrum {

class basic_socket : public fd {
 public:
  using fd::fd;

  [[nodiscard]] endpoint local_endpoint() const {
    return detail::or_throw(detail::call_on{*this, "local_endpoint"},
                            [&](std::error_code& e) { return local_endpoint(e); });
  }
  [[nodiscard]] endpoint local_endpoint(std::error_code& error) const noexcept;
  [[nodiscard]] endpoint remote_endpoint() const {
    return detail::or_throw(detail::call_on{*this, "remote_endpoint"},
                            [&](std::error_code& e) { return remote_endpoint(e); });
  }
  [[nodiscard]] endpoint remote_endpoint(std::error_code& error) const noexcept;

  // shutdown_write ends the sending side: the peer reads up to the end, and may go on writing to this socket.
  // shutdown_read ends the receiving side: no more bytes are read here.
  void shutdown_write() {
    detail::or_throw(detail::call_on{*this, "shutdown_write"}, [&](std::error_code& e) { shutdown_write(e); });
  }
  void shutdown_write(std::error_code& error) noexcept;
  void shutdown_read() {
    detail::or_throw(detail::call_on{*this, "shutdown_read"}, [&](std::error_code& e) { shutdown_read(e); });
  }
  void shutdown_read(std::error_code& error) noexcept;

  // Sizes in bytes, as requested from the system, which may choose another size.
  void set_read_buffer(int bytes) {
    detail::or_throw(detail::call_on{*this, "set_read_buffer"}, [&](std::error_code& e) { set_read_buffer(bytes, e); });
  }
  void set_read_buffer(int bytes, std::error_code& error) noexcept;
  void set_write_buffer(int bytes) {
    detail::or_throw(detail::call_on{*this, "set_write_buffer"},
                     [&](std::error_code& e) { set_write_buffer(bytes, e); });
  }
  void set_write_buffer(int bytes, std::error_code& error) noexcept;

 protected:
  explicit basic_socket(rt::poll_desc* desc) noexcept : fd(desc) {}
  void set_option(int level, int name, int value, std::error_code& error) noexcept;
};

}  // namespace thrum
