// TLS over any connection, with OpenSSL 3. It is a separate library: target_link_libraries(app PRIVATE thrum::tls).
//
//   auto trust = thrum::tls_context::client();   // once
//   auto conn = thrum::tls_stream::dial("example.org:443", trust, 5s);
//   conn.write_all("GET / HTTP/1.0\r\nHost: example.org\r\n\r\n");
//
//   auto server = thrum::tls_context::server({.identities = {{"chain.pem", "key.pem"}}});
//   thrum::go([&server, plain = listener.accept()]() mutable {
//     auto conn = thrum::tls_stream::server(std::move(plain), server);
//     conn.set_deadline(10s);
//     conn.handshake();   // otherwise the first read or write does it
//     ...
//     conn.close();       // sends close_notify; without it the peer's TLS reports that the connection was cut off
//   });
//
// Reading, writing, deadlines and closing work as in fd.h: waiting parks the goroutine, close ends all calls that wait
// (operation_canceled), and each call has a form that throws and one with a std::error_code. In addition:
//  - Reading returns 0 only after the peer's close_notify. An end without it is tls_errc::unexpected_end.
//  - After timed_out the stream can be used with a new deadline. A handshake continues. Bytes that a write had accepted
//    (it returns how many) are sent with the next write. Other errors of TLS are final.
//  - A read or write that also does the handshake waits for the peer until its own deadline: a write until the write
//    deadline. handshake() uses the read deadline. Everything that these calls send uses the write deadline. The
//    deadlines of the connection itself apply until one is set here.
//  - A read never waits to send. An answer that it has to send goes out at once or with a later call. On a connection
//    that is no fd, such as another tls_stream, it goes out with the next write, shutdown or close. If 64 KiB of
//    answers pile up because the peer does not read them, or because there is no such call, reading fails
//    (answers_not_taken).
//  - The errors are described in tls_error.h.
//
// Thread safety: as for fd. One goroutine may read while another writes, and any goroutine may close. Moving, assigning
// and destroying need exclusive access.
//
// Cost: a mutex and a call of OpenSSL for each read and write. Memory: up to 100 KiB for buffers, of which only as much
// is touched as messages need, and OpenSSL's own memory. OpenSSL runs on the goroutine's stack and needs less than 10
// KiB of it (measured with OpenSSL 3.0), so the default of 256 KiB is ample, and 64 KiB are enough. A handshake
// computes for about a millisecond.
#pragma once

#include <thrum/buffer.h>
#include <thrum/clock.h>
#include <thrum/detail/deadline.h>
#include <thrum/detail/tls_transport.h>
#include <thrum/fd.h>
#include <thrum/tls_context.h>
#include <thrum/tls_error.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

struct ssl_st;  // OpenSSL's SSL

namespace thrum {

namespace detail {
class tls_link;
}

class tls_stream {
 public:
  static constexpr clock::time_point no_deadline = clock::time_point::max();
  static constexpr std::chrono::nanoseconds no_timeout = std::chrono::nanoseconds::max();

  tls_stream() noexcept;
  tls_stream(tls_stream&&) noexcept;
  tls_stream& operator=(tls_stream&&) noexcept;
  ~tls_stream();  // closes the connection without a close_notify

  // Both take ownership of the connection and do not wait. `host` is a name, which is also sent to the server (SNI), or
  // a numeric address, with or without brackets and zone. The peer's certificate must be valid for it.
  template <detail::carries_tls Conn>
  static tls_stream client(Conn conn, tls_context const& context, std::string_view host) {
    return detail::or_throw("tls_stream::client",
                            [&](std::error_code& e) { return client(std::move(conn), context, host, e); });
  }
  template <detail::carries_tls Conn>
  static tls_stream client(Conn conn, tls_context const& context, std::string_view host, std::error_code& error) {
    return make_client(wrap(std::move(conn)), context, host, error);
  }
  template <detail::carries_tls Conn>
  static tls_stream server(Conn conn, tls_context const& context) {
    return detail::or_throw("tls_stream::server",
                            [&](std::error_code& e) { return server(std::move(conn), context, e); });
  }
  template <detail::carries_tls Conn>
  static tls_stream server(Conn conn, tls_context const& context, std::error_code& error) {
    return make_server(wrap(std::move(conn)), context, error);
  }
  // Makes a TCP connection and does the handshake, within one timeout.
  static tls_stream dial(std::string_view address, tls_context const& context,
                         std::chrono::nanoseconds timeout = no_timeout) {
    return detail::or_throw(detail::call_to{"dial tls", address},
                            [&](std::error_code& e) { return dial(address, context, timeout, e); });
  }
  static tls_stream dial(std::string_view address, tls_context const& context, std::chrono::nanoseconds timeout,
                         std::error_code& error);

  // Does nothing if the handshake is done already.
  void handshake() {
    detail::or_throw("handshake", [this](std::error_code& e) { handshake(e); });
  }
  void handshake(std::error_code& error);

  std::size_t read_some(mutable_buffer to) {
    return detail::or_throw("read_some", [&](std::error_code& e) { return read_some(to, e); });
  }
  std::size_t read_some(mutable_buffer to, std::error_code& error);
  [[nodiscard]] std::size_t read_full(mutable_buffer to) {
    return detail::or_throw("read_full", [&](std::error_code& e) { return read_full(to, e); });
  }
  std::size_t read_full(mutable_buffer to, std::error_code& error);

  std::size_t write_some(const_buffer from) {
    return detail::or_throw("write_some", [&](std::error_code& e) { return write_some(from, e); });
  }
  std::size_t write_some(const_buffer from, std::error_code& error);
  std::size_t write_all(const_buffer from) {
    return detail::or_throw("write_all", [&](std::error_code& e) { return write_all(from, e); });
  }
  std::size_t write_all(const_buffer from, std::error_code& error) {
    return write_all(std::span<const_buffer const>(&from, 1), error);
  }
  std::size_t write_all(std::span<const_buffer const> from) {
    return detail::or_throw("write_all", [&](std::error_code& e) { return write_all(from, e); });
  }
  std::size_t write_all(std::span<const_buffer const> from, std::error_code& error);

  // Tells the peer that no more data comes (close_notify). Data from the peer can be read after that.
  void shutdown() {
    detail::or_throw("shutdown", [this](std::error_code& e) { shutdown(e); });
  }
  void shutdown(std::error_code& error);

  // Ends all calls. Sends close_notify first, unless a write is under way or only half of a message of the peer's
  // handshake protocol has come. If the peer reads nothing, close waits for up to 5 s, as in Go.
  void close() {
    detail::or_throw("close", [this](std::error_code& e) { close(e); });
  }
  void close(std::error_code& error);
  [[nodiscard]] bool is_open() const noexcept;
  explicit operator bool() const noexcept { return is_open(); }

  // `when` is a point in time, or a duration from the call on. None of these waits for the peer. These and the queries
  // below may wait while another call computes.
  template <class When>
  void set_deadline(When const& when) {
    detail::or_throw("set_deadline", [&](std::error_code& e) { set_deadline(when, e); });
  }
  template <class When>
  void set_deadline(When const& when, std::error_code& error) {
    set_deadlines(true, true, moment(when), error);
  }
  template <class When>
  void set_read_deadline(When const& when) {
    detail::or_throw("set_read_deadline", [&](std::error_code& e) { set_read_deadline(when, e); });
  }
  template <class When>
  void set_read_deadline(When const& when, std::error_code& error) {
    set_deadlines(true, false, moment(when), error);
  }
  template <class When>
  void set_write_deadline(When const& when) {
    detail::or_throw("set_write_deadline", [&](std::error_code& e) { set_write_deadline(when, e); });
  }
  template <class When>
  void set_write_deadline(When const& when, std::error_code& error) {
    set_deadlines(false, true, moment(when), error);
  }

  // What the handshake has agreed upon. Empty before the handshake, and if there is no such value.
  [[nodiscard]] std::string version() const;      // "TLSv1.3"
  [[nodiscard]] std::string cipher() const;       // "TLS_AES_256_GCM_SHA384"
  [[nodiscard]] std::string protocol() const;     // by ALPN: "h2"
  [[nodiscard]] std::string server_name() const;  // the name that the client asked for (SNI)
  // in the peer's certificate: the common name, otherwise the first DNS name
  [[nodiscard]] std::string peer_name() const;

  // The underlying connection, or nullptr if it is of another type.
  template <class Conn>
  [[nodiscard]] Conn* connection() noexcept {
    auto* const below = dynamic_cast<detail::tls_transport_of<Conn>*>(transport());
    return below == nullptr ? nullptr : &below->conn();
  }
  // OpenSSL's object, for queries that have no call here. Not to be used at the same time as any other call.
  [[nodiscard]] ssl_st* native_handle() noexcept;

 private:
  explicit tls_stream(std::unique_ptr<detail::tls_link> link) noexcept;

  template <class Conn>
  static std::unique_ptr<detail::tls_transport> wrap(Conn conn) {
    return std::make_unique<detail::tls_transport_of<Conn>>(std::move(conn));
  }
  template <class When>
  static clock::time_point moment(When const& when) {
    return clock::time_point(clock::duration(detail::io_deadline(when)));
  }
  static tls_stream make_client(std::unique_ptr<detail::tls_transport> below, tls_context const& context,
                                std::string_view host, std::error_code& error);
  static tls_stream make_server(std::unique_ptr<detail::tls_transport> below, tls_context const& context,
                                std::error_code& error);
  void set_deadlines(bool read, bool write, clock::time_point when, std::error_code& error);
  [[nodiscard]] detail::tls_transport* transport() noexcept;

  std::unique_ptr<detail::tls_link> link_;
};

}  // namespace thrum
