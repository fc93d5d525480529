// tls_link's reading, writing and shutdown.
#include "tls/link.h"
#include <thrum/tls_error.h>

#include <algorithm>
#include <mutex>

namespace thrum::detail {
namespace {

// How much is encrypted before it is sent. It is two of the largest records, which halves the number of system calls.
constexpr std::size_t chunk_bytes_max = 32 * 1024;

// Reading stops while more bytes of answers than this wait to be sent. One read may add to them, so there can be half
// as much again.
constexpr std::size_t answer_bytes_max = 64 * 1024;

// The unsent rest of several buffers.
class rest_of {
 public:
  explicit rest_of(std::span<const_buffer const> all) noexcept : parts_(all) { skip_empty(); }

  [[nodiscard]] bool is_empty() const noexcept { return parts_.empty(); }
  [[nodiscard]] const_buffer front(std::size_t at_most) const noexcept {
    const_buffer const& first = parts_.front();
    return {static_cast<char const*>(first.data()) + done_, std::min(first.size() - done_, at_most)};
  }
  void drop(std::size_t bytes) noexcept {
    done_ += bytes;
    if (done_ < parts_.front().size()) return;
    done_ = 0;
    parts_ = parts_.subspan(1);
    skip_empty();
  }

 private:
  void skip_empty() noexcept {
    while (!parts_.empty() && parts_.front().size() == 0) parts_ = parts_.subspan(1);
  }

  std::span<const_buffer const> parts_;
  std::size_t done_ = 0;  // bytes of the first buffer that are dropped
};

}  // namespace

std::size_t tls_link::read(mutable_buffer to, amount wanted, std::error_code& error) {
  if (!shake_hands(direction::read, error)) return 0;
  std::lock_guard const turn(read_turn_);
  std::size_t done = 0;
  while (done < to.size()) {
    std::size_t const more = read_once({static_cast<char*>(to.data()) + done, to.size() - done}, error);
    done += more;
    if (more == 0 || wanted == amount::some) break;
  }
  return done;
}

// Returns 0 at the end of the stream and after an error.
std::size_t tls_link::read_once(mutable_buffer to, std::error_code& error) {
  while (may_begin(direction::read, error) && has_room_for_answers(error)) {
    std::size_t came = 0;
    tls_outcome const outcome =
        session_->perform([&](SSL* ssl) { return SSL_read_ex(ssl, to.data(), to.size(), &came); });
    if (outcome.has_output || unsent_.load(relaxed)) send_if_possible();  // relaxed: otherwise a later call sends it
    if (outcome.how == tls_result::success) return came;
    error = outcome.error;
    if (outcome.how != tls_result::wants_input || !feed(direction::read, outcome.inputs, error)) break;
  }
  return 0;
}

// Without this limit, a peer that asks for answers and does not read them would make the output grow without bound.
bool tls_link::has_room_for_answers(std::error_code& error) {
  if (session_->output_bytes() <= answer_bytes_max) return true;
  send_if_possible();
  if (session_->output_bytes() <= answer_bytes_max) return true;
  error = tls_errc::answers_not_taken;
  return false;
}

std::size_t tls_link::write(std::span<const_buffer const> from, amount wanted, std::error_code& error) {
  if (!shake_hands(direction::write, error)) return 0;
  std::lock_guard const turn(write_turn_);
  std::size_t taken = 0;
  rest_of rest(from);
  while (!rest.is_empty() && may_begin(direction::write, error)) {
    if (sent_close_notify_) {
      error = std::make_error_code(std::errc::broken_pipe);
      break;
    }
    // What an earlier call could not send goes first, because otherwise it could grow without bound. relaxed: if the
    // flag is seen too late, at most one chunk is added.
    if (unsent_.load(relaxed)) send(send_wait::until_the_deadline, error);
    for (std::size_t room = chunk_bytes_max; room != 0 && !rest.is_empty() && !error;) {
      std::size_t const more = encrypt(rest.front(room), error);
      if (more == 0) break;
      rest.drop(more);
      room -= more;
      taken += more;
    }
    std::error_code send_error;
    send(send_wait::until_the_deadline, send_error);
    if (!error) error = send_error;
    if (error || wanted == amount::some) break;
  }
  return taken;
}

// Returns 0, with an error, if it fails.
std::size_t tls_link::encrypt(const_buffer from, std::error_code& error) {
  std::size_t taken = 0;
  bool const done =
      perform_writing([&](SSL* ssl) { return SSL_write_ex(ssl, from.data(), from.size(), &taken); }, error);
  return done ? taken : 0;
}

template <class Call>
bool tls_link::perform_writing(Call call, std::error_code& error) {
  for (;;) {
    tls_outcome const outcome = session_->perform(call);
    if (outcome.how == tls_result::success) return true;
    error = outcome.error;
    if (outcome.how == tls_result::end) error = std::make_error_code(std::errc::broken_pipe);
    if (error && !is_open())
      error = std::make_error_code(std::errc::operation_canceled);  // close has sent close_notify
    if (outcome.has_output) send_if_possible();
    if (error || !feed(direction::write, outcome.inputs, error) || !may_begin(direction::write, error)) return false;
  }
}

void tls_link::shutdown(std::error_code& error) {
  if (!is_established()) {
    error = std::make_error_code(std::errc::not_connected);
    return;
  }
  std::lock_guard const turn(write_turn_);
  if (!may_begin(direction::write, error)) return;
  if (!sent_close_notify_) {
    sent_close_notify_ = perform_writing(
        [](SSL* ssl) {
          if (SSL_in_init(ssl) != 0) {  // half of a handshake message has come, so the rest has to be read first
            if (int const answer = SSL_do_handshake(ssl); answer <= 0) return answer;
          }
          return SSL_shutdown(ssl) < 0 ? -1 : 1;
        },
        error);
  }
  if (!error) send(send_wait::until_the_deadline, error);
}

}  // namespace thrum::detail
