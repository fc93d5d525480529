// What is to be written to a client that has subscribed: others put messages in, and a goroutine of its own writes them.
//
// Nobody who publishes ever waits for a subscriber. One that reads too slowly is cut off when as much waits for it as Redis allows by
// default, 32 MiB (Redis' softer limit, 8 MiB for a minute, is left out).
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

  // Another's message. Never waits; when it is too much the connection is closed.
  void post(std::string_view message);

  // The client's own replies: waits while much is unwritten, as write_all would. False: the connection is gone.
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

  thrum::join_handle<void> writer_;  // last: it uses all of them
};

}  // namespace kv
