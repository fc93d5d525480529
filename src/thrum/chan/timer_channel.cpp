// timer, ticker, after (Go's time.Timer with the channels of Go 1.23).
//
// The channel has a hidden buffer of one element. The timer sends into it under the timer's lock and never waits. stop
// and reset take the value back under the same lock, so no value of an earlier setting is left when they return.
//
// The channel owns the timer, and the timer points to the channel without a reference. The thread that drops the
// channel's last handle stops the timer first, and waits if the timer is firing at that moment.
#include "chan/channel.h"
#include "core/current.h"
#include "core/sched.h"
#include "sched/park.h"
#include "sched/timekeeper.h"
#include "sched/timers.h"
#include "sync/wait.h"
#include <thrum/detail/parcel.h>
#include <thrum/detail/timer_channel.h>

#include <new>
#include <stdexcept>
#include <type_traits>

namespace thrum::detail {

using namespace rt;

namespace {

static_assert(sizeof(clock::time_point) == sizeof(std::int64_t) && std::is_trivially_copyable_v<clock::time_point>);

void send_time(timer_record& fired, M& m, std::int64_t due_ns) noexcept {
  auto& c = *static_cast<channel*>(fired.argument);
  G* receiver = nullptr;
  if (c.take_lock(m.sched.epoch)) {
    static_cast<void>(send_locked(c, &due_ns, receiver));  // if the buffer is full, this tick is dropped
  }
  c.lock.release();
  if (receiver != nullptr) ready(m, *receiver);
}

// Called under the timer's lock. Returns whether there was a value to take back.
bool take_back(channel& c, std::uint32_t epoch) noexcept {
  std::int64_t value = 0;
  static_cast<void>(c.take_lock(epoch));  // waiters are left alone, so the result does not matter
  bool const sent = c.count.load(relaxed) != 0;
  if (sent) c.take(&value);
  c.lock.release();
  return sent;
}

}  // namespace

time_receiver make_timer_channel() {
  channel* const c = make_channel(1, parcel_type_of<clock::time_point>());
  time_receiver owner(c);
  c->timer = &new_timer(send_time, c);
  return owner;
}

bool set_timer(time_receiver const& of, std::int64_t ns, std::int64_t period_ns) {
  channel* const c = of.channel_handle::core();
  if (c == nullptr) throw std::logic_error("thrum: timer::reset: the timer was moved from");
  M& m = enter_to_wait("setting a timer");
  if (!m.p->timers.reserve(1)) {
    leave_runtime(m);
    throw std::bad_alloc();
  }
  timer_record& r = *c->timer;
  bool was_set = false;
  auto place = added_as::later;
  {
    os::lock_guard const guard(r.lock);
    was_set = r.armed_in == m.sched.epoch;
    was_set = take_back(*c, m.sched.epoch) || was_set;
    r.period_ns = period_ns;
    std::int64_t const now_ns = timer_clock_ns();
    if (ns > 0) {
      place = m.p->timers.arm(r, time_after(now_ns, ns), m.sched.epoch);
    } else {
      stop_locked(r);
      send_time(r, m, now_ns);
    }
  }
  timer_was_added(m, place);
  leave_runtime(m);
  return was_set;
}

bool stop_timer(time_receiver const& of) noexcept {
  channel* const c = of.channel_handle::core();
  if (c == nullptr) return false;
  timer_guard const guard(*c->timer);
  bool const was_armed = stop_locked(*c->timer);
  return take_back(*c, Sched::live_epoch.load(relaxed)) || was_armed;  // relaxed: of the caller's own run
}

std::int64_t checked_period(std::int64_t period_ns) {
  if (period_ns <= 0) throw std::invalid_argument("thrum: the period of a ticker must be positive");
  return period_ns;
}

}  // namespace thrum::detail
