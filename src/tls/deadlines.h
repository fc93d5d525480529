// The deadlines of a TLS stream, and how they become deadlines of the connection below. Until the first one is set, the
// connection keeps the deadlines that it came with.
//
// A write of the stream may have to read from the connection: if it meets half of a handshake message (a ticket in
// several records), it must read the rest first. It has to end by the write deadline all the same. So the connection's
// read deadline is the nearest deadline among the calls that wait for input. A call whose wait was ended by the
// deadline of the other direction finds that out (is_mine) and waits again.
//
// lock_ is a thrum::mutex, so these functions may park, except for is_over.
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
  // Sets the connection's write deadline for the close_notify of close. set() fails afterwards.
  void set_last(clock::time_point when, std::error_code& error);
  [[nodiscard]] bool is_over(direction which) const noexcept;

  // Called before and after a wait for input.
  void begin_input(direction which);
  void end_input(direction which);
  // After the connection has timed out: true if the deadline of this direction has passed, or if no deadline of the
  // stream explains the timeout. `changes` is the value of changes() before the wait.
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
  int readers_waiting_ = 0;  // calls that wait for input; during the handshake this can be more than one
  int writers_waiting_ = 0;
  bool is_last_ = false;
  bool was_set_ = false;
  std::optional<std::int64_t> applied_ns_;  // the read deadline that the connection has
  std::uint64_t changes_ = 0;               // how often it was set
};

}  // namespace thrum::detail
