// A TLS session on a connection: which call reads its input, which call sends its output, and in which order the locks
// are taken. All locks are thrum's, so a call that waits for one parks.
//
//   read_turn_, write_turn_    held during a whole call of the user: reads wait for each other, and so do writes
//   is_feeding_                held while reading from the connection, by a reader or by a writer that needs input
//   send_turn_                 held while writing to the connection, by a writer or by a reader that has output
//   the session's own lock     held during calls of OpenSSL, never while waiting for the connection
//
// They are taken in this order. No call holds is_feeding_ and send_turn_ at the same time. The handshake has no turn:
// every call that comes before it is done takes part in it, and ends by its own deadline.
//
// A call that needs input waits until it can take is_feeding_ or until another call has read input, whichever comes
// first. If it waited for is_feeding_ alone, a writer whose input has arrived could be kept waiting by a reader that
// waits for more input, which may come only after the writer has written.
//
// A call that has to send only a by-product (an answer to a key update, an alert) does not wait. It does not wait for a
// writer that holds send_turn_, because that writer looks for more output when it is done. It does not wait for the
// peer either: what cannot be sent at once is left for the next call.
#pragma once

#include "tls/deadlines.h"
#include "tls/session.h"
#include <thrum/buffer.h>
#include <thrum/condition_variable.h>
#include <thrum/detail/atomic.h>
#include <thrum/detail/tls_transport.h>
#include <thrum/mutex.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

namespace thrum::detail {

class tls_link {
 public:
  tls_link(std::unique_ptr<tls_transport> below, std::unique_ptr<tls_session> session) noexcept
      : below_(std::move(below)), session_(std::move(session)), deadlines_(*below_) {}

  [[nodiscard]] tls_transport& below() noexcept { return *below_; }
  [[nodiscard]] tls_session& session() noexcept { return *session_; }
  [[nodiscard]] bool is_open() const noexcept { return !closed_.load(relaxed); }  // relaxed: publishes no other data
  [[nodiscard]] bool is_established() const noexcept { return established_.load(acquire); }  // pairs with shake_hands

  void handshake(std::error_code& error);
  enum class amount : bool { some, all };
  std::size_t read(mutable_buffer to, amount wanted, std::error_code& error);
  std::size_t write(std::span<const_buffer const> from, amount wanted, std::error_code& error);
  void shutdown(std::error_code& error);
  void close(std::error_code& error);
  void set_deadlines(bool read, bool write, clock::time_point when, std::error_code& error);

 private:
  // Returns false, with an error, if the stream is closed or the deadline has passed.
  [[nodiscard]] bool may_begin(direction which, std::error_code& error);
  // Completes the handshake. Returns false, with an error, if that fails.
  [[nodiscard]] bool shake_hands(direction side, std::error_code& error);
  std::size_t read_once(mutable_buffer to, std::error_code& error);
  // Returns false, with an error, if too many bytes of answers wait to be sent.
  [[nodiscard]] bool has_room_for_answers(std::error_code& error);
  std::size_t encrypt(const_buffer from, std::error_code& error);
  // Makes call(SSL*) for a writer. If OpenSSL needs input first, the writer reads it from the connection. Returns
  // false, with an error, if it fails.
  template <class Call>
  [[nodiscard]] bool perform_writing(Call call, std::error_code& error);
  // Reads input from the connection, or waits until another call has done so. Returns true if the call of OpenSSL is to
  // be repeated. `inputs` is tls_outcome::inputs of the call that asked for more.
  [[nodiscard]] bool feed(direction side, std::uint64_t inputs, std::error_code& error);
  class feed_turn;
  enum class send_wait : std::uint8_t {
    none,
    for_the_connection,  // waits until the connection takes the output, but does not wait for another call that sends
    until_the_deadline,  // waits for both
  };
  void send(send_wait how, std::error_code& error);
  void send_if_possible();
  void send_close_notify();

  std::unique_ptr<tls_transport> const below_;
  std::unique_ptr<tls_session> const session_;
  tls_deadlines deadlines_;
  atomic<bool> established_{false};
  atomic<bool> closed_{false};
  atomic<bool> unsent_{false};  // a send could not send everything

  mutex read_turn_;
  mutex write_turn_;
  bool sent_close_notify_ = false;  // under write_turn_
  mutex feed_lock_;
  condition_variable feed_changed_;
  bool is_feeding_ = false;  // under feed_lock_
  mutex send_turn_;
  // under send_turn_
  std::vector<unsigned char> sending_;
  std::size_t sent_ = 0;  // the bytes of sending_ that are sent
};

}  // namespace thrum::detail
