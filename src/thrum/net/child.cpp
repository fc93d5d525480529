// Waiting for a child process.
//
// The child's pidfd becomes readable when the child has ended, and the poller reports that. If another process traces
// the child, its end can be collected only a moment later. So a call that was woken goes on by looking repeatedly
// (wait_by_looking).
//
// The first call that waits uses the pidfd itself. A call that comes while another one waits, or that has a context,
// uses a duplicate, because deadlines and closing belong to a descriptor and not to a call. A duplicate costs two
// microseconds, but not every call makes one: if the process's descriptor table has to grow, making it sleeps in the
// kernel for milliseconds.
#include "net/child.h"

#include "core/current.h"
#include "net/io_call.h"
#include "os/clock.h"
#include "os/socket.h"
#include "sched/timers.h"
#include <thrum/blocking.h>
#include <thrum/defer.h>
#include <thrum/sleep.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace thrum::detail {

namespace os = rt::os;  // not all of rt, because rt has another type named context
using rt::runtime_mark;
using rt::system_error_of;

namespace {

exit_status meaning_of(os::child_end const& end) noexcept {
  return end.signal == 0 ? exit_status::of_code(end.code) : exit_status::of_signal(end.signal, end.dumped_core);
}

clock::time_point moment(std::int64_t ns) noexcept { return clock::time_point(clock::duration(ns)); }

// Why the wait ended is not reported, because the caller looks at the child next.
void wait_until_readable(fd& watch, std::int64_t when_ns) {
  std::error_code error;
  watch.set_read_deadline(moment(when_ns), error);  // for_ever_ns is fd::no_deadline
  if (!error) watch.wait_readable(error);
}

}  // namespace

void child::was_started(int pid, int pidfd) noexcept {
  name = {pid, std::max(pidfd, -1)};
  std::error_code ignored;  // on failure this record keeps the pidfd, and `watch` and wait_by_looking do without watch_
  if (pidfd >= 0) watch_ = fd(pidfd, ignored);
  is_collected_ = pidfd == -ECHILD;
  if (is_collected_) failure_ = ECHILD;
}

child::~child() {
  sleepers_by_number_ = 0;  // a goroutine that is counted here was stopped at the end of its run and does not continue
  if (end_) learn();
  if (name.pidfd >= 0 && !watch_.is_open()) os::close(name.pidfd);
}

void child::learn() noexcept {
  if (is_collected_) return;
  auto const how = sleepers_by_number_ == 0 ? os::child_look::collect : os::child_look::leave;
  os::child_end end{};
  int const found = os::look_at_child(name, how, end);
  if (found > 0) end_ = meaning_of(end);
  if (found < 0 && !end_) failure_ = -found;
  is_collected_ = found < 0 || (found > 0 && how == os::child_look::collect);
}

std::optional<exit_status> child::look(std::error_code& error) noexcept {
  error.clear();
  runtime_mark const mark;
  os::lock_guard const guard(lock_);
  learn();
  if (failure_ != 0) error = system_error_of(failure_);
  return end_;
}

void child::send(int signal, std::error_code& error) noexcept {
  error.clear();
  runtime_mark const mark;
  os::lock_guard const guard(lock_);
  // Without a pidfd the signal is sent by process id. Other code of the program may have collected the child, and then
  // the id may belong to another process.
  if (name.pidfd < 0) learn();
  if (end_ || failure_ != 0) return;
  int const failed = os::signal_child(name, signal);
  if (failed < 0 && failed != -ESRCH) error = system_error_of(-failed);
}

std::optional<exit_status> child::wait(std::int64_t when_ns, context const* ctx, std::error_code& error) {
  auto const ended = look(error);
  if (ended || error || when_ns <= os::monotonic_ns()) return ended;
  if (name.pidfd >= 0 && rt::callers_m() != nullptr) watch(when_ns, ctx);  // only a runtime has a poller
  return wait_by_looking(when_ns, ctx, error);
}

void child::watch(std::int64_t when_ns, context const* ctx) {
  // acquire pairs with the release below: the call that used watch_ before has finished with it. A call that was
  // stopped at the end of its run keeps it, and later calls use duplicates.
  if (ctx == nullptr && watch_.is_open() && !watch_is_used_.exchange(true, rt::acquire)) {
    defer const at_end = [this] { watch_is_used_.store(false, rt::release); };
    return wait_until_readable(watch_, when_ns);
  }
  int const number = os::duplicate(name.pidfd);
  if (number < 0) return;
  std::error_code error;
  fd copy(number, error);
  if (error) {
    os::close(number);
    return;
  }
  if (ctx == nullptr) return wait_until_readable(copy, when_ns);
  // Shared, because the context's callback may run after this call has returned.
  auto const shared = std::make_shared<fd>(std::move(copy));
  auto on_done = after_func(*ctx, [shared] {
    std::error_code ignored;
    shared->close(ignored);
  });
  defer const at_end = [&] { static_cast<void>(on_done.stop()); };
  wait_until_readable(*shared, when_ns);
}

std::optional<exit_status> child::wait_by_looking(std::int64_t when_ns, context const* ctx, std::error_code& error) {
  using namespace std::chrono_literals;
  constexpr std::chrono::nanoseconds pause_max = 20ms;
  for (std::chrono::nanoseconds pause = 100us;; pause = std::min(2 * pause, pause_max)) {
    auto const ended = look(error);
    if (ended || error || when_ns <= os::monotonic_ns()) return ended;
    if (ctx != nullptr && ctx->err()) {
      error = ctx->err();
      return {};
    }
    if (when_ns == for_ever_ns && ctx == nullptr) {
      sleep_by_number();
    } else {
      sleep_until(std::min(moment(when_ns), clock::now() + pause));
    }
  }
}

void child::sleep_by_number() {
  {
    runtime_mark const mark;
    os::lock_guard const guard(lock_);
    if (is_collected_) return;
    ++sleepers_by_number_;
  }
  // The result is ignored, because learn() finds the same error.
  static_cast<void>(blocking([this] { return os::wait_for_child(name.pid); }, blocking_hint::long_call));
  runtime_mark const mark;
  os::lock_guard const guard(lock_);
  --sleepers_by_number_;
  learn();
}

}  // namespace thrum::detail
