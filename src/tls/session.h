// One connection's SSL object, with its input and output bytes, under a mutex.
//
// Invariants:
// 1. No call parks while it holds the lock. So clearing OpenSSL's error queue, the call and reading the queue happen on
//    one thread. A reader and a writer wait for each other's computation, but never for data of the peer.
// 2. One call at a time reads input from the connection (link.h), and only after OpenSSL has taken all input and asked
//    for more. So the input buffer is empty then.
// 3. A TLS error is final: all later calls return the same error.
#pragma once

#include "tls/context.h"
#include "tls/owned.h"
#include "tls/wire.h"
#include <thrum/buffer.h>
#include <thrum/mutex.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <openssl/err.h>

namespace thrum::detail {

enum class tls_result : std::uint8_t {
  success,
  wants_input,  // the call has to be repeated when more input has come
  end,          // the peer's close_notify
  failure,
};

struct tls_outcome {
  tls_result how = tls_result::failure;
  bool has_output = false;     // there are bytes to send
  std::uint64_t inputs = 0;    // how many times input had come before the call
  std::error_code error = {};  // set for tls_result::failure
};

class tls_session {
 public:
  // `host` is the name or address that a client expects in the server's certificate.
  [[nodiscard]] static std::unique_ptr<tls_session> open(std::shared_ptr<tls_context_state const> context,
                                                         std::string_view host, std::error_code& error);

  // call(SSL*) returns the result of a function of OpenSSL, which is greater than 0 for success.
  template <class Call>
  [[nodiscard]] tls_outcome perform(Call call) {
    std::lock_guard const guard(lock_);
    if (broken_) return {tls_result::failure, !wire_.output.empty(), inputs_, broken_};
    ERR_clear_error();
    int const answer = call(ssl_.get());
    return judge(answer);
  }
  // Calls question(SSL*), which cannot fail, under the lock.
  template <class Question>
  [[nodiscard]] auto ask(Question question) {
    std::lock_guard const guard(lock_);
    return question(ssl_.get());
  }
  [[nodiscard]] SSL* ssl() noexcept { return ssl_.get(); }

  // The buffer for input. The call that holds is_feeding_ (link.h) writes it without the lock, and then calls
  // input_came.
  [[nodiscard]] mutable_buffer space() noexcept { return {wire_.input.get(), tls_wire::input_bytes_max}; }
  void input_came(std::size_t bytes);
  [[nodiscard]] std::uint64_t inputs();

  // Swaps the bytes to send with `to`, which is empty.
  void take_output(std::vector<unsigned char>& to);
  [[nodiscard]] std::size_t output_bytes();
  [[nodiscard]] bool has_output() { return output_bytes() != 0; }

 private:
  explicit tls_session(std::shared_ptr<tls_context_state const> context) : context_(std::move(context)) {}

  [[nodiscard]] bool set_up(std::string const& host);
  [[nodiscard]] tls_outcome judge(int answer) noexcept;

  std::shared_ptr<tls_context_state const> const context_;

  mutex lock_;
  // under lock_
  tls_wire wire_;
  owned_ssl ssl_;  // after wire_, because it uses wire_ and has to be destroyed first
  std::uint64_t inputs_ = 0;
  std::error_code broken_;
};

}  // namespace thrum::detail
