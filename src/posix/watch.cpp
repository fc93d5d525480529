#include "posix/watch.h"

#include "core/sched.h"
#include "os/chaos.h"
#include "posix/watch_buckets.h"
#include "sched/timers.h"
#include "sync/wait.h"

#include <errno.h>

namespace thrum::posix {
namespace {

enum class arm_outcome : std::uint8_t { done, is_ready, impossible };

// Arms `one`. Called under the bucket's lock.
arm_outcome arm(fd_bucket& bucket, watch& one, std::uint32_t epoch, if_unwatchable what_then,
                g_list& runnable) noexcept {
  std::uint32_t const asked = bucket.find(one.fd, epoch)->asked | one.events;
  int const error = tell_kernel(bucket, one.fd, asked, epoch, runnable);
  if (one.was_closed.load(relaxed)) return arm_outcome::is_ready;  // the caller looks at the flag
  bucket.find(one.fd, epoch)->asked |= asked;  // tell_kernel may have changed which watch is the first
  one.is_armed = error == 0;
  one.is_known = one.is_known || error == 0;
  switch (error) {
    case 0: return arm_outcome::done;
    case EBADF: return arm_outcome::is_ready;  // the next try fails with EBADF
    case EPERM: return what_then == if_unwatchable::is_left_out ? arm_outcome::done : arm_outcome::impossible;
    default: return arm_outcome::impossible;
  }
}

// As arm, for a watch whose turn it is not, so that it gets no events. Finds out whether the number stands for the same
// file.
arm_outcome ask_kernel(fd_bucket& bucket, watch& one, std::uint32_t epoch, g_list& runnable) noexcept {
  int const error = tell_kernel(bucket, one.fd, bucket.find(one.fd, epoch)->asked, epoch, runnable);
  if (error == EBADF) one.was_closed.store(true, relaxed);
  if (one.was_closed.load(relaxed)) return arm_outcome::is_ready;
  one.is_known = one.is_known || error == 0;
  return error == 0 ? arm_outcome::done : arm_outcome::impossible;
}

}  // namespace

std::int64_t now_ns() noexcept { return timer_clock_ns(); }

waiter::waiter(watch* all, std::size_t count, if_unwatchable what_then, turn_order how) noexcept
    : call_(current_m()->sched, how), all_(all), count_(count), what_then_(what_then) {}

waiter::~waiter() {
  if (!has_entered_) return;
  M& m = *current_m();
  enter_runtime(m);
  g_list runnable;
  for (std::size_t i = 0; i < count_; ++i) {
    watch& one = all_[i];
    if (one.owner == nullptr) continue;
    fd_bucket& bucket = bucket_of(one.fd);
    os::lock_guard const guard(bucket.lock);
    bool const had_turn = call_.how == turn_order::in_turn && bucket.find_in_turn(one.fd, call_.epoch) == &one;
    bucket.leave(one);
    if (watch* const next = had_turn ? bucket.find_in_turn(one.fd, call_.epoch) : nullptr)
      next->owner->set_word(runnable);
  }
  ready_all(m, runnable);
  leave_runtime(m);
}

// Called under the bucket's lock.
void waiter::enter_if_new(watch& one) noexcept {
  if (one.owner != nullptr) return;
  bucket_of(one.fd).enter(one, call_);
  has_entered_ = true;
  store_load_fence();  // pairs with say_closed
}

bool waiter::any_was_closed() const noexcept {
  bool closed = false;
  for (std::size_t i = 0; i < count_; ++i) closed = closed || all_[i].was_closed.load(relaxed);
  return closed;
}

void waiter::check_if_closed(watch& one) noexcept {
  M& m = *current_m();
  enter_runtime(m);
  g_list runnable;
  {
    fd_bucket& bucket = bucket_of(one.fd);
    os::lock_guard const guard(bucket.lock);
    if (one.is_known && !one.was_closed.load(relaxed))
      static_cast<void>(ask_kernel(bucket, one, call_.epoch, runnable));
  }
  ready_all(m, runnable);
  leave_runtime(m);
}

watch_outcome waiter::wait(std::int64_t deadline_ns) noexcept {
  M& m = *current_m();
  enter_runtime(m);
  call_.clear_word();
  g_list runnable;
  auto armed = has_inner_poll() ? arm_outcome::done : arm_outcome::impossible;
  for (std::size_t i = 0; i < count_ && armed == arm_outcome::done; ++i) {
    watch& one = all_[i];
    if (one.fd < 0) continue;
    fd_bucket& bucket = bucket_of(one.fd);
    os::lock_guard const guard(bucket.lock);
    enter_if_new(one);
    auto const is_its_turn = [&] {
      return call_.how == turn_order::together || bucket.find_in_turn(one.fd, call_.epoch) == &one;
    };
    if (one.was_closed.load(relaxed)) {
      armed = arm_outcome::is_ready;
    } else if (!is_its_turn()) {
      armed = ask_kernel(bucket, one, call_.epoch, runnable);
    }
    if (armed == arm_outcome::done && is_its_turn()) armed = arm(bucket, one, call_.epoch, what_then_, runnable);
  }
  ready_all(m, runnable);
  auto how = watch_outcome::by_event;
  if (armed == arm_outcome::done) {
    os::chaos_point("posix.watches");
    try {
      if (!call_.park_until_set(deadline_ns == without_limit ? no_deadline : deadline_ns)) how = watch_outcome::by_time;
    } catch (...) {
      how = watch_outcome::impossible;
    }
  } else {
    leave_runtime(m);
    if (armed == arm_outcome::impossible) how = watch_outcome::impossible;
  }
  // The last try must be made on the file for which the call has waited. poll, select and epoll_wait only look, so they
  // do not ask.
  if (how == watch_outcome::by_time && what_then_ == if_unwatchable::makes_it_impossible) check_if_closed(*all_);
  return any_was_closed() ? watch_outcome::by_close : how;
}

bool waiter::has_turn() noexcept {
  runtime_mark const mark;
  if (!has_inner_poll()) return false;
  watch& one = *all_;
  fd_bucket& bucket = bucket_of(one.fd);
  os::lock_guard const guard(bucket.lock);
  enter_if_new(one);
  return bucket.find_in_turn(one.fd, call_.epoch) == &one;
}

bool waiter::is_alone() noexcept {
  runtime_mark const mark;
  watch& one = *all_;
  fd_bucket& bucket = bucket_of(one.fd);
  os::lock_guard const guard(bucket.lock);
  watch const* other = bucket.find(one.fd, call_.epoch);
  if (other == &one) other = fd_bucket::find(one.next, one.fd, call_.epoch);
  return other == nullptr;
}

}  // namespace thrum::posix
