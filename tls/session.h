// One connection's SSL object with the bytes that it wants and makes, under a mutex.
//
// Invariants:
//   1. Between the lock and the unlock nothing parks. So clearing OpenSSL's error queue, the call and reading the queue happen on one
//      thread, and a reader and a writer wait for each other's computing, never for each other's peers.
//   2. Input is brought by one at a time (link.h), and only after OpenSSL had taken all and asked for more: the buffer is empty then.
//   3. An error of TLS is final: all later calls have the same one.
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

enum class came_to : std::uint8_t {
  success,
  wants_input,  // to be repeated when more has come
  end,          // the peer's close_notify
  failure,
};

struct tls_outcome {
  came_to how = came_to::failure;
  bool has_output = false;     // there is something to send
  std::uint64_t inputs = 0;    // how often input had come
  std::error_code error = {};  // of a failure
};

class tls_session {
 public:
  // `host`: whom a client expects.
  [[nodiscard]] static std::unique_ptr<tls_session> open(std::shared_ptr<tls_context_state const> context,
                                                         std::string_view host, std::error_code& error);

  // call(SSL*) answers what functions of OpenSSL answer: more than 0 for success.
  template <class Call>
  [[nodiscard]] tls_outcome perform(Call call) {
    std::lock_guard const guard(lock_);
    if (broken_) return {came_to::failure, !wire_.output.empty(), inputs_, broken_};
    ERR_clear_error();
    int const answer = call(ssl_.get());
    return judge(answer);
  }
  // A question that cannot fail.
  template <class Question>
  [[nodiscard]] auto ask(Question question) {
    std::lock_guard const guard(lock_);
    return question(ssl_.get());
  }
  [[nodiscard]] SSL* ssl() noexcept { return ssl_.get(); }

  // Where input may be put, without the lock, by the one who brings it.
  [[nodiscard]] mutable_buffer space() noexcept { return {wire_.input.get(), tls_wire::input_bytes_max}; }
  void input_came(std::size_t bytes);
  [[nodiscard]] std::uint64_t inputs();

  // Exchanges what there is to send for an empty vector.
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
  owned_ssl ssl_;  // freed before wire_, which it uses
  std::uint64_t inputs_ = 0;
  std::error_code broken_;
};

}  // namespace thrum::detail
