// TLS over any connection, by OpenSSL 3. A library of its own: target_link_libraries(app PRIVATE thrum::tls).
//
//   auto trust = thrum::tls_context::client();   // once
//   auto conn = thrum::tls_stream::dial("example.org:443", trust, 5s);
//   conn.write_all("GET / HTTP/1.0\r\nHost: example.org\r\n\r\n");
//
//   auto server = thrum::tls_context::server({.identities = {{"chain.pem", "key.pem"}}});
//   thrum::go([&server, plain = listener.accept()]() mutable {
//     auto conn = thrum::tls_stream::server(std::move(plain), server);
//     conn.set_deadline(10s);
//     conn.handshake();   // else the first read or write does it
//     ...
//     conn.close();       // says goodbye; a stream that is merely destroyed is cut off, and the peer is told so by its TLS
//   });
//
// Reading, writing, deadlines and closing are those of fd.h, and so are their promises: waiting parks the goroutine, close ends
// whoever waits (operation_canceled), each call has a form that throws and one with a std::error_code. Beyond these:
//  - Reading answers 0 only after the peer's close_notify. An end without it is tls_errc::unexpected_end.
//  - After timed_out one may go on with a new deadline: a handshake continues, and what a write had taken before (it says how much) goes
//    out with the next write. Other errors of TLS are final.
//  - A call that also does the handshake waits for the peer until its own deadline: a write until the write deadline. handshake() has the
//    read deadline. What is sent in it has the write deadline. A connection's own deadlines hold until one is set here.
//  - A read never waits to send: what it has to answer goes at once or with a later call. A peer that lets 64 KiB of answers pile up is
//    not read from (answers_not_taken).
//  - Errors: tls_error.h.
//
// Thread safety: as fd. One goroutine may read while another writes, and any may close. Moving, assigning and destroying are for one alone.
//
// Cost: a mutex and a call of OpenSSL around each read and write. Memory: up to 100 KiB for buffers, of which only what messages need is
// touched, and what OpenSSL keeps. OpenSSL runs on the goroutine's stack and needs less than 10 KiB of it (measured with OpenSSL 3.0): the
// default of 256 KiB is ample, 64 KiB are enough. A handshake computes for a millisecond or so.
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
  ~tls_stream();  // closes what is below, without a goodbye

  // Both take the connection over, and do not wait. `host`: a name, which is also told to the server (SNI), or the number of an
  // address, with brackets and zone or without. The peer's certificate must have it.
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
  // A TCP connection and the handshake, within one timeout.
  static tls_stream dial(std::string_view address, tls_context const& context,
                         std::chrono::nanoseconds timeout = no_timeout) {
    return detail::or_throw(detail::call_to{"dial tls", address},
                            [&](std::error_code& e) { return dial(address, context, timeout, e); });
  }
  static tls_stream dial(std::string_view address, tls_context const& context, std::chrono::nanoseconds timeout,
                         std::error_code& error);

  // Nothing if it is done already.
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

  // Tells the peer that nothing more comes (close_notify). What it still has to say may be read.
  void shutdown() {
    detail::or_throw("shutdown", [this](std::error_code& e) { shutdown(e); });
  }
  void shutdown(std::error_code& error);

  // Ends all calls. Says goodbye first, unless somebody is writing just now, or a message of the peer's handshake protocol has come in half;
  // a peer that takes nothing is waited for 5 s, as in Go.
  void close() {
    detail::or_throw("close", [this](std::error_code& e) { close(e); });
  }
  void close(std::error_code& error);
  [[nodiscard]] bool is_open() const noexcept;
  explicit operator bool() const noexcept { return is_open(); }

  // A moment, or a time from now. None of these waits for the peer; these and the questions below may wait while another call computes.
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

  // What was agreed upon; empty before the handshake, and where there is none.
  [[nodiscard]] std::string version() const;      // "TLSv1.3"
  [[nodiscard]] std::string cipher() const;       // "TLS_AES_256_GCM_SHA384"
  [[nodiscard]] std::string protocol() const;     // by ALPN: "h2"
  [[nodiscard]] std::string server_name() const;  // that the client asked for (SNI)
  [[nodiscard]] std::string peer_name() const;    // in the peer's certificate: the common name, else the first DNS name

  // The connection below, if it is of this type.
  template <class Conn>
  [[nodiscard]] Conn* connection() noexcept {
    auto* const below = dynamic_cast<detail::tls_transport_of<Conn>*>(transport());
    return below == nullptr ? nullptr : &below->conn();
  }
  // For questions that have no call here. Not beside any other call.
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
