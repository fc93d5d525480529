// A child process that was started, and how it ended once that is known.
//
// The first call that looks at the child after its end collects it (waitid), under lock_. Signals are sent under lock_
// too. Once the child is collected its process id is not used, because the kernel may have given it to another process.
// While a call sleeps in the kernel by process id (sleep_by_number), the end is seen but not collected. The last such
// call collects it. A goroutine that holds lock_ is not preempted, because it is inside the runtime (T01).
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
  ~child();  // the child process keeps running
  child(child const&) = delete;
  child& operator=(child const&) = delete;

  // Returns the exit status. It is empty without an error while the child runs, and while another process that traces
  // it holds its end back. It is empty with an error if how the child ended cannot be known. Does not park.
  [[nodiscard]] std::optional<exit_status> look(std::error_code& error) noexcept;
  void send(int signal, std::error_code& error) noexcept;

  // Returns the exit status. It is empty without an error if `when_ns` has come, and empty with an error if the context
  // is done or something failed.
  [[nodiscard]] std::optional<exit_status> wait(std::int64_t when_ns, context const* ctx, std::error_code& error);

  // Called once, before any other call. The record owns `pidfd` from then on. A negative `pidfd` is the -errno of
  // open_pidfd.
  void was_started(int pid, int pidfd) noexcept;

  rt::os::child_name name{0, -1};

 private:
  void learn() noexcept;  // under lock_
  // Waits until the pidfd is readable, `when_ns` has come or the context is done. Returns at once if no descriptor can
  // be had.
  void watch(std::int64_t when_ns, context const* ctx);
  [[nodiscard]] std::optional<exit_status> wait_by_looking(std::int64_t when_ns, context const* ctx,
                                                           std::error_code& error);
  void sleep_by_number();

  fd watch_;  // The pidfd, used by one waiting call at a time. It is open if the poller has accepted it.
  rt::atomic<bool> watch_is_used_{false};
  rt::os::lock lock_{rt::lock_rank::leaf};
  // under lock_
  std::optional<exit_status> end_;
  int failure_ = 0;            // the errno with which collecting it failed
  bool is_collected_ = false;  // by this record, or by other code of the program if collecting it failed
  int sleepers_by_number_ = 0;
};

}  // namespace thrum::detail
