#include "tls/link.h"

#include <thrum/sleep.h>
#include <thrum/tls_error.h>

#include <chrono>
#include <mutex>
#include <utility>

namespace thrum::detail {
namespace {

std::error_code canceled() noexcept { return std::make_error_code(std::errc::operation_canceled); }
std::error_code timed_out() noexcept { return std::make_error_code(std::errc::timed_out); }

// How long close waits for a peer that does not read. Go's value.
constexpr auto close_notify_time_max = std::chrono::seconds(5);

// Long enough for the call whose deadline has passed to notice it.
constexpr auto a_moment = std::chrono::microseconds(20);

class input_wait {
 public:
  input_wait(tls_deadlines& deadlines, direction side) : deadlines_(deadlines), side_(side) {
    deadlines_.begin_input(side_);
  }
  ~input_wait() { deadlines_.end_input(side_); }
  input_wait(input_wait const&) = delete;
  input_wait& operator=(input_wait const&) = delete;

 private:
  tls_deadlines& deadlines_;
  direction side_;
};

}  // namespace

bool tls_link::may_begin(direction which, std::error_code& error) {
  if (!is_open()) {
    error = canceled();
  } else if (deadlines_.is_over(which)) {
    error = timed_out();
  }
  return !error;
}

// The right to read from the connection, which one call at a time has.
class tls_link::feed_turn {
 public:
  // Waits until no other call reads, or until another call has brought new input. In the second case this call does not
  // read.
  feed_turn(tls_link& of, std::uint64_t inputs) : of_(of) {
    std::unique_lock guard(of_.feed_lock_);
    of_.feed_changed_.wait(guard, [&] { return !of_.is_feeding_ || of_.session_->inputs() != inputs; });
    is_mine_ = of_.session_->inputs() == inputs;
    of_.is_feeding_ = of_.is_feeding_ || is_mine_;
  }
  ~feed_turn() { end(); }
  feed_turn(feed_turn const&) = delete;
  feed_turn& operator=(feed_turn const&) = delete;
  explicit operator bool() const noexcept { return is_mine_; }

  void end() {
    if (!std::exchange(is_mine_, false)) return;
    {
      std::lock_guard const guard(of_.feed_lock_);
      of_.is_feeding_ = false;
    }
    of_.feed_changed_.notify_all();
  }

 private:
  tls_link& of_;
  bool is_mine_ = false;
};

bool tls_link::feed(direction side, std::uint64_t inputs, std::error_code& error) {
  input_wait const wait(deadlines_, side);
  feed_turn turn(*this, inputs);
  if (!turn) return true;  // another call has brought input
  std::uint64_t const changes = deadlines_.changes();
  std::size_t const came = below_->read_some(session_->space(), error);
  if (error == std::errc::timed_out && !deadlines_.is_mine(side, changes)) {
    error.clear();
    turn.end();
    sleep_for(a_moment);  // lets the call whose deadline has passed take its turn
    return true;
  }
  if (error) return false;
  if (came == 0) {
    error = tls_errc::unexpected_end;
    return false;
  }
  session_->input_came(came);
  return true;
}

void tls_link::send(send_wait how, std::error_code& error) {
  do {
    std::unique_lock turn(send_turn_, std::defer_lock);
    if (how == send_wait::until_the_deadline) {
      turn.lock();
    } else if (!turn.try_lock()) {
      return;
    }
    for (;;) {
      if (sending_.empty()) session_->take_output(sending_);
      if (sending_.empty()) break;
      const_buffer const rest(sending_.data() + sent_, sending_.size() - sent_);
      std::size_t const went = how == send_wait::none ? below_->write_now(rest, error) : below_->write_all(rest, error);
      sent_ += went;
      unsent_.store(went != rest.size(), relaxed);  // relaxed: a call that misses it leaves it to the next
      if (went != rest.size()) return;
      sending_.clear();
      sent_ = 0;
    }
  } while (session_->has_output());  // another call may have left output to this one just before the unlock
}

// Errors are ignored, because they concern writers. The reader's own read reports a broken connection.
void tls_link::send_if_possible() {
  std::error_code ignored;
  send(send_wait::none, ignored);
}

void tls_link::handshake(std::error_code& error) {
  if (is_established()) {
    if (!is_open()) error = canceled();
    return;
  }
  static_cast<void>(shake_hands(direction::read, error));
}

bool tls_link::shake_hands(direction side, std::error_code& error) {
  while (!is_established()) {
    if (!may_begin(side, error)) return false;
    tls_outcome const outcome = session_->perform([](SSL* ssl) { return SSL_do_handshake(ssl); });
    std::error_code send_error;
    send(send_wait::until_the_deadline, send_error);  // this also sends the alert that says why the handshake failed
    switch (outcome.how) {
      case tls_result::failure: error = outcome.error; return false;
      case tls_result::end: error = tls_errc::unexpected_end; return false;
      case tls_result::wants_input:
        error = send_error;
        if (error || !feed(side, outcome.inputs, error)) return false;
        break;
      case tls_result::success:
        if (send_error == std::errc::timed_out || send_error == std::errc::operation_canceled) {
          error = send_error;
          return false;
        }
        // Any other send error means that the peer closed the connection before it read its session tickets. It may
        // have sent data before that, so the stream can be read. The next write reports the error.
        established_.store(true, release);  // pairs with is_established
    }
  }
  return true;
}

void tls_link::close(std::error_code& error) {
  if (closed_.exchange(true, acq_rel)) {
    error = std::make_error_code(std::errc::bad_file_descriptor);
    return;
  }
  send_close_notify();
  below_->close(error);
}

// Sends close_notify, unless another call is sending or a handshake message is half read. A call that is sending may be
// stuck, and close has to end it.
void tls_link::send_close_notify() {
  if (!is_established()) return;
  std::error_code ignored;
  deadlines_.set_last(clock::now() + close_notify_time_max, ignored);
  send(below_->can_write_now() ? send_wait::none : send_wait::for_the_connection, ignored);
  std::unique_lock const turn(send_turn_, std::try_to_lock);
  if (!turn || !sending_.empty() || session_->has_output()) return;
  tls_outcome const outcome = session_->perform([](SSL* ssl) {
    bool const cannot = SSL_in_init(ssl) != 0 || (SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN) != 0;
    return cannot || SSL_shutdown(ssl) >= 0 ? 1 : -1;
  });
  if (outcome.how != tls_result::success || !outcome.has_output) return;
  session_->take_output(sending_);
  below_->write_all(const_buffer(sending_), ignored);
  sending_.clear();
}

void tls_link::set_deadlines(bool read, bool write, clock::time_point when, std::error_code& error) {
  if (!is_open()) {
    error = canceled();
    return;
  }
  deadlines_.set(read, write, when, error);
}

}  // namespace thrum::detail
