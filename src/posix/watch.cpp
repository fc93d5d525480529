#include "posix/watch.h"

#include "core/sched.h"
#include "os/chaos.h"
#include "posix/watch_buckets.h"
#include "sched/timers.h"
#include "sync/wait.h"

#include <errno.h>

namespace thrum::posix {
namespace {

enum class arming : std::uint8_t { done, is_ready, impossible };

// Arms `one`. Called under the bucket's lock.
arming arm(fd_bucket& bucket, watch& one, std::uint32_t epoch, unwatched what_then, g_list& runnable) noexcept {
  std::uint32_t const asked = bucket.find(one.fd, epoch)->asked | one.events;
  int const error = tell_kernel(bucket, one.fd, asked, epoch, runnable);
  if (one.was_closed.load(relaxed)) return arming::is_ready;  // the caller looks at the mark
  bucket.find(one.fd, epoch)->asked |= asked;                 // tell_kernel may have changed which watch is the first
  one.is_armed = error == 0;
  one.is_known = one.is_known || error == 0;
  switch (error) {
    case 0: return arming::done;
    case EBADF: return arming::is_ready;  // the next try fails with EBADF
    case EPERM: return what_then == unwatched::is_left_out ? arming::done : arming::impossible;
    default: return arming::impossible;
  }
}

// As arm, for a watch whose turn it is not, so that it gets no events. Finds out whether the number stands for the same
// file.
arming ask_kernel(fd_bucket& bucket, watch& one, std::uint32_t epoch, g_list& runnable) noexcept {
  int const error = tell_kernel(bucket, one.fd, bucket.find(one.fd, epoch)->asked, epoch, runnable);
  if (error == EBADF) one.was_closed.store(true, relaxed);
  if (one.was_closed.load(relaxed)) return arming::is_ready;
  one.is_known = one.is_known || error == 0;
  return error == 0 ? arming::done : arming::impossible;
}

}  // namespace

std::int64_t now_ns() noexcept { return timer_clock_ns(); }

waiter::waiter(watch* all, std::size_t count, unwatched what_then, standing how) noexcept
    : call_(current_m()->sched, how), all_(all), count_(count), what_then_(what_then) {}

waiter::~waiter() {
  if (!has_entered_) return;
  M& m = *current_m();
  enter(m);
  g_list runnable;
  for (std::size_t i = 0; i < count_; ++i) {
    watch& one = all_[i];
    if (one.whose == nullptr) continue;
    fd_bucket& bucket = bucket_of(one.fd);
    os::lock_guard const guard(bucket.lock);
    bool const had_turn = call_.how == standing::in_turn && bucket.find_in_turn(one.fd, call_.epoch) == &one;
    bucket.leave(one);
    if (watch* const next = had_turn ? bucket.find_in_turn(one.fd, call_.epoch) : nullptr)
      next->whose->set_word(runnable);
  }
  ready_all(m, runnable);
  leave(m);
}

// Called under the bucket's lock.
void waiter::enter_if_new(watch& one) noexcept {
  if (one.whose != nullptr) return;
  bucket_of(one.fd).enter(one, call_);
  has_entered_ = true;
  store_load_fence();  // pairs with say_closed
}

bool waiter::any_was_closed() const noexcept {
  bool closed = false;
  for (std::size_t i = 0; i < count_; ++i) closed = closed || all_[i].was_closed.load(relaxed);
  return closed;
}

void waiter::look_whether_it_is_gone(watch& one) noexcept {
  M& m = *current_m();
  enter(m);
  g_list runnable;
  {
    fd_bucket& bucket = bucket_of(one.fd);
    os::lock_guard const guard(bucket.lock);
    if (one.is_known && !one.was_closed.load(relaxed))
      static_cast<void>(ask_kernel(bucket, one, call_.epoch, runnable));
  }
  ready_all(m, runnable);
  leave(m);
}

woken waiter::wait(std::int64_t deadline_ns) noexcept {
  M& m = *current_m();
  enter(m);
  call_.clear_word();
  g_list runnable;
  auto armed = has_bell() ? arming::done : arming::impossible;
  for (std::size_t i = 0; i < count_ && armed == arming::done; ++i) {
    watch& one = all_[i];
    if (one.fd < 0) continue;
    fd_bucket& bucket = bucket_of(one.fd);
    os::lock_guard const guard(bucket.lock);
    enter_if_new(one);
    auto const is_its_turn = [&] {
      return call_.how == standing::together || bucket.find_in_turn(one.fd, call_.epoch) == &one;
    };
    if (one.was_closed.load(relaxed)) {
      armed = arming::is_ready;
    } else if (!is_its_turn()) {
      armed = ask_kernel(bucket, one, call_.epoch, runnable);
    }
    if (armed == arming::done && is_its_turn()) armed = arm(bucket, one, call_.epoch, what_then_, runnable);
  }
  ready_all(m, runnable);
  auto how = woken::by_event;
  if (armed == arming::done) {
    os::chaos_point("posix.watches");
    try {
      if (!call_.park_until_set(deadline_ns == without_limit ? no_deadline : deadline_ns)) how = woken::by_time;
    } catch (...) {
      how = woken::impossible;
    }
  } else {
    leave(m);
    if (armed == arming::impossible) how = woken::impossible;
  }
  // The last try must be made on the file for which the call has waited. poll, select and epoll_wait only look, so they
  // do not ask.
  if (how == woken::by_time && what_then_ == unwatched::makes_it_impossible) look_whether_it_is_gone(*all_);
  return any_was_closed() ? woken::by_close : how;
}

bool waiter::has_turn() noexcept {
  runtime_mark const mark;
  if (!has_bell()) return false;
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
