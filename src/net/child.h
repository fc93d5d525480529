// A child process that was started, and how it ended once that is known.
//
// Its end is collected by whoever looks first, under the lock, and signals are sent under it: after that the child's number, which
// may be a stranger's by then, is not used any more. While somebody sleeps by the number, an end is seen but not collected: the
// last of them does that. Whoever holds the lock is not preempted (T01).
#pragma once

#include "base/atomic.h"
#include "os/lock.h"
#include "os/process.h"
#include <thrum/context.h>
#include <thrum/fd.h>
#include <thrum/process.h>

#include <cstdint>
#include <optional>
#include <system_error>

namespace thrum::detail {

struct child {
  child() noexcept = default;
  ~child();  // the child itself goes on
  child(child const&) = delete;
  child& operator=(child const&) = delete;

  // Empty: it runs, or another process that traces it holds its end back; or how it ended cannot be known, which is an error.
  // Never switches.
  [[nodiscard]] std::optional<exit_status> look(std::error_code& error) noexcept;
  void send(int signal, std::error_code& error) noexcept;

  // Empty: the time has come; or the context is done or something failed, which is an error.
  [[nodiscard]] std::optional<exit_status> wait(std::int64_t when_ns, context const* ctx, std::error_code& error);

  // The first to know it. Takes the descriptor over; negative: what open_pidfd failed with.
  void was_started(int pid, int pidfd) noexcept;

  rt::os::child_name name{0, -1};

 private:
  void learn() noexcept;  // under lock_
  // Until it seems to have ended, or the time or the context tells; or not at all, if there is no descriptor for it.
  void watch(std::int64_t when_ns, context const* ctx);
  [[nodiscard]] std::optional<exit_status> wait_by_looking(std::int64_t when_ns, context const* ctx,
                                                           std::error_code& error);
  void sleep_by_number();

  fd watch_;  // the pidfd, for one who waits; open if the poller knows it
  rt::atomic<bool> watch_is_used_{false};
  rt::os::lock lock_{rt::lock_rank::leaf};
  // under lock_
  std::optional<exit_status> end_;
  int failure_ = 0;            // the errno with which it could not be collected
  bool is_collected_ = false;  // by us or, if that failed, by others
  int sleepers_by_number_ = 0;
};

}  // namespace thrum::detail
