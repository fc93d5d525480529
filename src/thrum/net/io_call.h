// A call on a descriptor: it takes the lock of the direction, tries the system call, and while that would block it
// waits and tries again.
//
// A read that got fewer bytes than it asked for from a TCP stream has taken all that had arrived. So the next read does
// not try before an event has come, and one answer and one question over TCP cost two system calls instead of three.
// epoll(7) documents this. The exception is an end of the stream, an error or urgent data that came in the same event
// (poll_desc::ended).
//
// perform may park, so it runs on the caller's goroutine or foreign thread, outside the runtime.
#pragma once

#include "core/poll_desc.h"
#include "wait/poll_use.h"
#include "wait/poll_wait.h"
#include <thrum/sleep.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <system_error>

namespace thrum::rt {

[[nodiscard]] inline std::error_code system_error_of(int error) noexcept { return {error, std::generic_category()}; }
[[nodiscard]] inline std::error_code error_of(poll_outcome how) noexcept {
  if (how == poll_outcome::closed) return std::make_error_code(std::errc::operation_canceled);
  return how == poll_outcome::timed_out ? std::make_error_code(std::errc::timed_out) : std::error_code();
}

// The use of a descriptor for a call that neither waits nor needs a turn, such as setting an option.
class short_use {
 public:
  short_use(poll_desc* d, std::error_code& error) noexcept : d_(d) {
    error.clear();
    if (d_ == nullptr) {
      error = system_error_of(EBADF);
    } else if (!use_.begin(*d_)) {
      error = error_of(poll_outcome::closed);
      d_ = nullptr;
    }
  }
  ~short_use() {
    if (d_ != nullptr) use_.end(*d_);
  }
  short_use(short_use const&) = delete;
  short_use& operator=(short_use const&) = delete;
  explicit operator bool() const noexcept { return d_ != nullptr; }
  poll_desc* operator->() const noexcept { return d_; }
  poll_desc& operator*() const noexcept { return *d_; }

 private:
  poll_desc* d_;
  poll_use use_;
};

class io_call {
 public:
  io_call(poll_desc* d, poll_side_name which, std::error_code& error) : d_(d), which_(which) {
    error.clear();
    if (d_ == nullptr) {
      error = system_error_of(EBADF);
    } else if (!use_.begin(*d_, which_)) {
      error = error_of(poll_outcome::closed);
      d_ = nullptr;
    }
  }
  ~io_call() {
    if (d_ != nullptr) use_.end(*d_, which_);
  }
  io_call(io_call const&) = delete;
  io_call& operator=(io_call const&) = delete;
  explicit operator bool() const noexcept { return d_ != nullptr; }
  poll_desc& operator*() const noexcept { return *d_; }

  // attempt() returns a number of bytes, or -errno. A result from 1 to asked - 1 says that a TCP stream has no more
  // bytes at present. With `asked` 0 the result says nothing about that.
  template <class Attempt>
  [[nodiscard]] long perform(std::size_t asked, std::error_code& error, Attempt attempt) {
    poll_side& side = d_->side(which_);
    for (poll_outcome seen = look_at_poll_side(*d_, side);; seen = wait_until_ready(*d_, which_)) {
      must_count();
      if (seen != poll_outcome::ready) {
        error = error_of(seen);
        return -1;
      }
      if (may_skip(side)) continue;
      long const result = attempt(d_->fd);
      if (result == -EAGAIN) {
        side.drained = true;
        continue;
      }
      side.drained = result > 0 && static_cast<std::size_t>(result) < asked && d_->kind == poll_kind::tcp_socket;
      if (result >= 0) return result;
      // After close the descriptor number stands for another file, whose errors mean nothing here (wait/poll_use.h).
      error = is_closed(*d_) ? error_of(poll_outcome::closed) : system_error_of(static_cast<int>(-result));
      return -1;
    }
  }

  // Sleeps, for callers that no event tells when to try again. Throws as perform does. The next perform notices a close
  // or a deadline.
  void pause(std::chrono::nanoseconds how_long) const {
    uses_inside_run inside;
    must_be_able_to_wait(inside);
    sleep_for(how_long);
    inside.end();
    must_count();
  }

  // Makes the next perform try the system call, even if the last read has taken all that had arrived.
  void forget_drained() noexcept { d_->side(which_).drained = false; }

 private:
  // Throws if this call does not count as a user of the descriptor. A foreign thread may lose its share when the run
  // ends while the thread waits inside the runtime, on this descriptor or on another one.
  void must_count() const {
    if (use_.is_lost()) [[unlikely]]
      throw std::logic_error("thrum: the run ended while a call on a descriptor waited");
  }

  // True if the system call would fail with EAGAIN. Otherwise an event that has come is consumed here, before the
  // system call, so that an event which comes during the call counts as a new one.
  [[nodiscard]] bool may_skip(poll_side& side) const noexcept {
    poll_word seen = side.word.load(acquire);  // pairs with take_events: `ended`
    bool const came = poll_words::payload(seen) == poll_words::event_came;
    if (came) {
      // The result is ignored, because a change in between can only have written event_came as well.
      static_cast<void>(
          side.word.compare_exchange(seen, poll_words::with(seen, poll_words::nothing), acq_rel, relaxed));
      return false;
    }
    return side.drained && !d_->ended.load(relaxed);
  }

  poll_desc* d_;
  poll_side_name which_;
  poll_use use_;
};

}  // namespace thrum::rt
