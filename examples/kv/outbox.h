// The messages and replies to be written to a client with subscriptions. Other goroutines put messages in, and a
// goroutine of the outbox writes them.
//
// A publisher never waits for a subscriber. A subscriber that reads too slowly is cut off when 32 MiB wait for it,
// which is the default of Redis. (Redis' softer limit, 8 MiB for a minute, is not implemented.)
#pragma once

#include <thrum/condition_variable.h>
#include <thrum/go.h>
#include <thrum/mutex.h>
#include <thrum/tcp.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace kv {

class outbox {
 public:
  static constexpr std::size_t bytes_max = 32 * 1024 * 1024;

  explicit outbox(thrum::tcp_conn& to) : to_(to), writer_(thrum::spawn([this] { write(); })) {}
  ~outbox();
  outbox(outbox const&) = delete;
  outbox& operator=(outbox const&) = delete;

  // Adds a message of another client. Never waits. If too much is waiting, closes the connection.
  void post(std::string_view message);

  // Adds the client's own replies. Waits while much is unwritten, as write_all would. Returns false if the connection
  // has ended.
  [[nodiscard]] bool send(std::string_view replies);

 private:
  void write();

  thrum::tcp_conn& to_;
  thrum::mutex mutex_;
  thrum::condition_variable changed_;
  // under the mutex
  std::string waiting_;
  std::size_t being_written_bytes_ = 0;
  bool is_ending_ = false;
  bool is_broken_ = false;

  thrum::join_handle<void> writer_;  // the last member, because its goroutine uses all others
};

}  // namespace kv
