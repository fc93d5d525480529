// What a TLS stream requires of the underlying connection. Any type with these calls works: a tcp_conn, a unix_conn, an
// fd, another tls_stream.
//
// A read may also have to send something (an answer, an alert) and must not wait for that, because the peer may never
// take it. Only descriptors can write without waiting. On any other connection a read sends nothing, and what it has to
// send goes out with the next write, shutdown or close. TLS allows that: an answer to a key update is due before the
// next data.
#pragma once

#include <thrum/buffer.h>
#include <thrum/clock.h>
#include <thrum/fd.h>

#include <concepts>
#include <cstddef>
#include <system_error>
#include <utility>

namespace thrum::detail {

template <class Conn>
concept carries_tls = requires(Conn& conn, std::error_code& error) {
  conn.read_some(mutable_buffer(), error);
  conn.write_all(const_buffer(), error);
  conn.close(error);
  conn.set_read_deadline(clock::time_point(), error);
  conn.set_write_deadline(clock::time_point(), error);
};

class tls_transport {
 public:
  tls_transport() noexcept = default;
  tls_transport(tls_transport const&) = delete;
  tls_transport& operator=(tls_transport const&) = delete;
  virtual ~tls_transport() = default;

  virtual std::size_t read_some(mutable_buffer to, std::error_code& error) = 0;
  virtual std::size_t write_all(const_buffer from, std::error_code& error) = 0;
  // Writes as much as possible without waiting. If can_write_now is false, that is nothing.
  virtual std::size_t write_now(const_buffer from, std::error_code& error) = 0;
  [[nodiscard]] virtual bool can_write_now() const noexcept = 0;
  virtual void close(std::error_code& error) = 0;
  virtual void set_read_deadline(clock::time_point when, std::error_code& error) = 0;
  virtual void set_write_deadline(clock::time_point when, std::error_code& error) = 0;
};

template <carries_tls Conn>
class tls_transport_of final : public tls_transport {
 public:
  explicit tls_transport_of(Conn conn) noexcept : conn_(std::move(conn)) {}

  [[nodiscard]] Conn& conn() noexcept { return conn_; }

  std::size_t read_some(mutable_buffer to, std::error_code& error) override { return conn_.read_some(to, error); }
  std::size_t write_all(const_buffer from, std::error_code& error) override { return conn_.write_all(from, error); }
  std::size_t write_now([[maybe_unused]] const_buffer from, [[maybe_unused]] std::error_code& error) override {
    if constexpr (std::derived_from<Conn, fd>) {
      return detail::write_now(conn_, from, error);
    } else {
      return 0;
    }
  }
  [[nodiscard]] bool can_write_now() const noexcept override { return std::derived_from<Conn, fd>; }
  void close(std::error_code& error) override { conn_.close(error); }
  void set_read_deadline(clock::time_point when, std::error_code& error) override {
    conn_.set_read_deadline(when, error);
  }
  void set_write_deadline(clock::time_point when, std::error_code& error) override {
    conn_.set_write_deadline(when, error);
  }

 private:
  Conn conn_;
};

}  // namespace thrum::detail
