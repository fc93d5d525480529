// A TLS session on a connection: who brings its input, who sends its output, and in which order the locks are taken.
//
//   read_turn_, write_turn_    a whole call of the user's long: reads wait for each other, and so do writes
//   is_feeding_                reading from the connection: a reader, or a writer that needs input
//   send_turn_                 writing to the connection: a writer, or a reader whose session has something to say
//   the session's own lock     around calls of OpenSSL, never while waiting for the connection
//
// Taken in this order, is_feeding_ and send_turn_ never both. The handshake has no turn: whoever comes does what there is to do,
// and ends by its own deadline.
//
// Who waits for input waits for the turn or for what somebody else brings, whichever comes first: if it were for the turn alone, a writer
// whose input has come could stand behind a reader that waits for the next, which may come only when the writer has written.
//
// Who wants to send only what came up by the way (an answer to a key update, an alert) waits for nobody: neither for a writer that
// sends, who looks again when it is done, nor for the peer. What does not go at once is left for the next call.
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
  [[nodiscard]] bool is_open() const noexcept { return !closed_.load(relaxed); }             // a mere question
  [[nodiscard]] bool is_established() const noexcept { return established_.load(acquire); }  // pairs with handshake()

  void handshake(std::error_code& error);
  enum class amount : bool { some, all };
  std::size_t read(mutable_buffer to, amount wanted, std::error_code& error);
  std::size_t write(std::span<const_buffer const> from, amount wanted, std::error_code& error);
  void shutdown(std::error_code& error);
  void close(std::error_code& error);
  void set_deadlines(bool read, bool write, clock::time_point when, std::error_code& error);

 private:
  // False: with the error why no call can begin.
  [[nodiscard]] bool may_begin(direction which, std::error_code& error);
  // False: with the error why the handshake is not done.
  [[nodiscard]] bool shake_hands(direction whose, std::error_code& error);
  std::size_t read_once(mutable_buffer to, std::error_code& error);
  // False: too much waits to be sent.
  [[nodiscard]] bool has_room_for_answers(std::error_code& error);
  std::size_t encrypt(const_buffer from, std::error_code& error);
  // call(SSL*) for a writer, who brings the input that it may want first. False: with an error.
  template <class Call>
  [[nodiscard]] bool perform_writing(Call call, std::error_code& error);
  // Brings input. True: repeat the call of OpenSSL. `inputs`: as it was when that asked for more.
  [[nodiscard]] bool feed(direction whose, std::uint64_t inputs, std::error_code& error);
  class feed_turn;
  enum class patience : bool { none, until_the_deadline };
  void send(patience how, std::error_code& error);
  void send_by_the_way();
  void say_goodbye();

  std::unique_ptr<tls_transport> const below_;
  std::unique_ptr<tls_session> const session_;
  tls_deadlines deadlines_;
  atomic<bool> established_{false};
  atomic<bool> closed_{false};
  atomic<bool> unsent_{false};  // a send has left something

  mutex read_turn_;
  mutex write_turn_;
  bool said_goodbye_ = false;  // under write_turn_
  mutex feed_lock_;
  condition_variable feed_changed_;
  bool is_feeding_ = false;  // under feed_lock_
  mutex send_turn_;
  // under send_turn_
  std::vector<unsigned char> sending_;
  std::size_t sent_ = 0;  // of it
};

}  // namespace thrum::detail
