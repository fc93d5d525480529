// The deadlines of a TLS stream, and how they become those of the connection below. Until one is set, that has those which it came with.
//
// Writes of the stream write to the connection, and reads read from it, but not only: a write that finds half of a message of the
// handshake protocol (a ticket in several records) must read the rest first. It then ends by the write deadline all the same. So
// the connection's read deadline is the nearer one of those that wait for input; who is woken by the other's looks, and waits again.
#pragma once

#include <thrum/clock.h>
#include <thrum/detail/atomic.h>
#include <thrum/detail/deadline.h>
#include <thrum/detail/tls_transport.h>
#include <thrum/mutex.h>

#include <cstdint>
#include <optional>
#include <system_error>

namespace thrum::detail {

enum class direction : std::uint8_t { read, write };

class tls_deadlines {
 public:
  explicit tls_deadlines(tls_transport& below) noexcept : below_(below) {}

  void set(bool read, bool write, clock::time_point when, std::error_code& error);
  // For writing; none can be set afterwards.
  void set_last(clock::time_point when, std::error_code& error);
  [[nodiscard]] bool is_over(direction which) const noexcept;

  // Around waiting for input.
  void begin_input(direction which);
  void end_input(direction which);
  // The connection has timed out: whether that was for this direction. `changes`: as they were before the wait.
  [[nodiscard]] bool is_mine(direction which, std::uint64_t changes);
  [[nodiscard]] std::uint64_t changes();

 private:
  [[nodiscard]] atomic<std::int64_t>& of(direction which) noexcept {
    return which == direction::read ? read_ns_ : write_ns_;
  }
  [[nodiscard]] int& waiting(direction which) noexcept {
    return which == direction::read ? readers_waiting_ : writers_waiting_;
  }
  void apply(std::error_code& error);

  tls_transport& below_;

  // written under lock_, read without it
  atomic<std::int64_t> read_ns_{no_io_deadline};
  atomic<std::int64_t> write_ns_{no_io_deadline};

  mutex lock_;
  // under lock_
  int readers_waiting_ = 0;  // one, or more in the handshake
  int writers_waiting_ = 0;
  bool is_last_ = false;
  bool was_set_ = false;
  std::optional<std::int64_t> applied_ns_;  // what the connection was told
  std::uint64_t changes_ = 0;               // how often
};

}  // namespace thrum::detail
