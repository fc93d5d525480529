#include "tls/deadlines.h"

#include <algorithm>
#include <mutex>

namespace thrum::detail {

void tls_deadlines::set(bool read, bool write, clock::time_point when, std::error_code& error) {
  std::lock_guard const guard(lock_);
  if (is_last_) {
    error = std::make_error_code(std::errc::operation_canceled);
    return;
  }
  was_set_ = true;
  std::int64_t const ns = when.time_since_epoch().count();
  // relaxed: a call that waits is woken by the deadline of the connection
  if (read) read_ns_.store(ns, relaxed);
  if (write) {
    write_ns_.store(ns, relaxed);
    below_.set_write_deadline(when, error);
  }
  if (!error) apply(error);
}

void tls_deadlines::set_last(clock::time_point when, std::error_code& error) {
  std::lock_guard const guard(lock_);
  is_last_ = true;
  below_.set_write_deadline(when, error);
}

bool tls_deadlines::is_over(direction which) const noexcept {
  std::int64_t const ns = (which == direction::read ? read_ns_ : write_ns_).load(relaxed);  // relaxed: as in set
  return ns != no_io_deadline && clock_ns() >= ns;
}

// Sets the connection's read deadline to the nearest one of the waiting calls. lock_ is held.
void tls_deadlines::apply(std::error_code& error) {
  if (!was_set_ || (readers_waiting_ == 0 && writers_waiting_ == 0)) return;
  std::int64_t nearest_ns = no_io_deadline;
  for (direction const each : {direction::read, direction::write}) {
    if (waiting(each) != 0) nearest_ns = std::min(nearest_ns, of(each).load(relaxed));  // relaxed: lock_ is held
  }
  if (nearest_ns == applied_ns_) return;
  ++changes_;  // before the new deadline can end a wait
  below_.set_read_deadline(clock::time_point(clock::duration(nearest_ns)), error);
  if (!error) applied_ns_ = nearest_ns;
}

void tls_deadlines::begin_input(direction which) {
  std::lock_guard const guard(lock_);
  ++waiting(which);
  std::error_code is_closed;  // ignored, because the caller's read reports it
  apply(is_closed);
}

void tls_deadlines::end_input(direction which) {
  std::lock_guard const guard(lock_);
  --waiting(which);
  std::error_code is_closed;  // ignored, because the other call's read reports it
  apply(is_closed);
}

bool tls_deadlines::is_mine(direction which, std::uint64_t changes) {
  if (is_over(which)) return true;
  direction const other = which == direction::read ? direction::write : direction::read;
  std::lock_guard const guard(lock_);
  return changes == changes_ && !(waiting(other) != 0 && is_over(other));
}

std::uint64_t tls_deadlines::changes() {
  std::lock_guard const guard(lock_);
  return changes_;
}

}  // namespace thrum::detail
