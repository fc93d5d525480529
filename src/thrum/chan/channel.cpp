#include "chan/channel.h"

#include "base/heuristics.h"
#include "core/current.h"
#include "core/sched.h"
#include "os/chaos.h"
#include "sched/park.h"
#include "sched/timers.h"
#include "sync/stamp.h"
#include "sync/wait.h"
#include <thrum/chan.h>

#include <array>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

namespace thrum::detail {

using namespace rt;

namespace {

// More than any address space holds. Below it, the product of capacity and size cannot overflow.
constexpr std::size_t buffer_bytes_max = std::size_t{1} << 47U;

void release_lock(M&, G&, void* c) noexcept { static_cast<channel*>(c)->lock.release(); }

[[noreturn, gnu::noinline]] void wait_on_nil(char const* what, wait_reason reason) {
  sleep_for_good(enter_to_wait(what), reason);
}

// Whether the caller, which has taken the waiter out of its queue, may wake the goroutine.
bool win(channel_waiter& waiter) noexcept {
  if (!waiter.is_select) return true;
  if (!waiter.g->race.win()) return false;
  waiter.g->wake_parameter = &waiter;  // tells the select which case it was
  return true;
}

// Enters the queue, which is locked with the channel, and parks. Returns whether the parcel was passed on.
[[gnu::noinline]] bool wait_in_queue(M& m, channel& c, waiter_queue& queue, void* parcel, wait_reason reason) noexcept {
  channel_waiter waiter;
  waiter.on = &c;  // for a debugger, which finds the waiter on the stack
  waiter.parcel = parcel;
  waiter.g = m.current;
  queue.push_back(waiter);
  os::chaos_point("chan.queued");
  leave_runtime(park(m, reason, release_lock, &c, commit_holds::lock, reinterpret_cast<std::uintptr_t>(&c)));
  return waiter.completed;
}

void ready_and_leave(M& m, G* other, std::uintptr_t site) noexcept {
  os::chaos_point("chan.unlocked");
  if (other != nullptr) ready(m, *other, site);
  leave_runtime(m);
}

// For calls that might have waited. Requests to pause usually arrive during the call, so they are looked at last.
void ready_yield_and_leave(M& m, G* other, std::uintptr_t site) noexcept {
  os::chaos_point("chan.unlocked");
  if (other != nullptr) ready(m, *other, site);
  leave_runtime(yield_if_asked(m));
}

}  // namespace

void waiter_queue::push_back(channel_waiter& waiter) noexcept {
  waiter.next = nullptr;
  waiter.previous = last_;
  waiter.is_queued = true;
  if (last_ == nullptr) {
    first_.store(&waiter, relaxed);  // relaxed: the channel is open, see channel.h
  } else {
    last_->next = &waiter;
  }
  last_ = &waiter;
}

void waiter_queue::remove(channel_waiter& waiter) noexcept {
  if (!waiter.is_queued) return;
  waiter.is_queued = false;
  if (waiter.previous == nullptr) {
    first_.store(waiter.next, relaxed);  // relaxed: as above; close takes all waiters out
  } else {
    waiter.previous->next = waiter.next;
  }
  if (waiter.next == nullptr) {
    last_ = waiter.previous;
  } else {
    waiter.next->previous = waiter.previous;
  }
}

channel_waiter* waiter_queue::pop_select() noexcept {
  while (channel_waiter* const first = first_.load(relaxed)) {
    unlink_first(*first);
    if (win(*first)) return first;
  }
  return nullptr;
}

void waiter_queue::detach(detached_waiters& to) noexcept {
  channel_waiter* const first = first_.load(relaxed);
  if (first == nullptr) return;
  to.before_.next = first;
  first->previous = &to.before_;
  to.behind_.previous = last_;
  last_->next = &to.behind_;
  first_.store(nullptr, rt::release);  // pairs with looks_empty: closed is set already
  last_ = nullptr;
}

std::size_t detached_waiters::pop_some(std::span<G*> to) noexcept {
  std::size_t won = 0;
  for (std::size_t left = to.size(); left > 0 && !empty(); --left) {
    channel_waiter& first = *before_.next;
    before_.next = first.next;
    first.next->previous = &before_;
    first.is_queued = false;
    if (win(first)) to[won++] = first.g;
  }
  return won;
}

void throw_closed_for_sending() { throw channel_closed("thrum: send on a closed channel"); }

channel* make_channel(std::size_t capacity, parcel_type const& type) {
  if (capacity > buffer_bytes_max / type.bytes) {
    throw channel_error("thrum: a channel with the capacity " + std::to_string(capacity) + " for elements of " +
                        std::to_string(type.bytes) + " bytes needs more memory than can be addressed");
  }
  void* const memory = ::operator new(sizeof(channel) + capacity * type.bytes);
  return ::new (memory) channel(capacity, type);
}

void retain_channel(channel* c) noexcept {
  if (c != nullptr) c->references.fetch_add(1U, relaxed);  // relaxed: the caller has a reference
}

void release_channel(channel* c) noexcept {
  // acq_rel: what other threads did with the channel is done before it is destroyed
  if (c == nullptr || c->references.fetch_sub(1U, acq_rel) != 1) return;
  if (c->timer != nullptr) end_timer(*c->timer);
  if (c->destroy != nullptr) {
    for (std::size_t left = c->count.load(relaxed); left != 0; --left) {
      c->destroy(c->place(c->head));
      c->head = c->head + 1 == c->capacity ? 0 : c->head + 1;
    }
  }
  c->~channel();
  ::operator delete(c);
}

[[gnu::noinline]] void send(channel* c, void* parcel) {
  if (c == nullptr) [[unlikely]]
    wait_on_nil("a send", wait_reason::send_on_nil);
  M& m = enter_to_wait("chan::send");
  G* other = nullptr;
  lock(m, *c);
  attempt const outcome = send_locked(*c, parcel, other);
  if (outcome == attempt::would_block) {
    if (!wait_in_queue(m, *c, c->senders, parcel, wait_reason::chan_send)) throw_closed_for_sending();
    return;
  }
  c->lock.release();
  ready_yield_and_leave(m, other, site_of_caller());
  if (outcome == attempt::closed) [[unlikely]]
    throw_closed_for_sending();
}

[[gnu::noinline]] bool receive(channel* c, void* parcel) {
  if (c == nullptr) [[unlikely]]
    wait_on_nil("a receive", wait_reason::receive_on_nil);
  M& m = enter_to_wait("chan::recv");
  G* other = nullptr;
  lock(m, *c);
  attempt const outcome = receive_locked(*c, parcel, other);
  if (outcome == attempt::would_block) return wait_in_queue(m, *c, c->receivers, parcel, wait_reason::chan_receive);
  c->lock.release();
  ready_yield_and_leave(m, other, site_of_caller());
  return outcome == attempt::done;
}

// If the channel is found full and found open after that, then it was both at the moment when it was found full. In the
// opposite order it need never have been both, because closing an unbuffered channel takes its receivers out.
bool would_block_to_send(channel const* c) noexcept {
  return c == nullptr || (c->looks_full() && !c->closed.load(acquire));  // pairs with close
}

[[gnu::noinline]] attempt try_send(channel* c, void* parcel) {
  if (would_block_to_send(c)) return attempt::would_block;
  os::chaos_point("chan.looked");
  M& m = enter_to_wait("chan::try_send");
  G* other = nullptr;
  lock(m, *c);
  attempt const outcome = send_locked(*c, parcel, other);
  c->lock.release();
  ready_and_leave(m, other, site_of_caller());
  if (outcome == attempt::closed) throw_closed_for_sending();
  return outcome;
}

// If the channel is found empty and found open after that, then it was both at the moment when it was found empty. If
// it is found empty, then closed, then empty, no element can come.
[[gnu::noinline]] attempt try_receive(channel* c, void* parcel) {
  if (c == nullptr) return attempt::would_block;
  if (c->looks_empty()) {
    if (!c->closed.load(acquire)) return attempt::would_block;  // pairs with close
    if (c->looks_empty()) return attempt::closed;
  }
  os::chaos_point("chan.looked");
  M& m = enter_to_wait("chan::try_recv");
  G* other = nullptr;
  lock(m, *c);
  attempt const outcome = receive_locked(*c, parcel, other);
  c->lock.release();
  ready_and_leave(m, other, site_of_caller());
  return outcome;
}

namespace {

enum class close_outcome : bool { done, was_closed };

// Takes all waiters out and wakes them, in chunks. The lock is held on entry and free on return. Waking the goroutines
// of a chunk takes about as long as taking them out, so threads that spin for the lock find it free.
void release_waiters(M& m, channel& c, detached_waiters& receivers, detached_waiters& senders,
                     std::uintptr_t site) noexcept {
  std::array<G*, closed_at_once> taken;
  crowd_to_wake crowd(m, site);
  for (;;) {
    std::size_t const won = (receivers.empty() ? senders : receivers).pop_some(taken);
    bool const is_last = receivers.empty() && senders.empty();
    c.lock.release();
    os::chaos_point("chan.closes_on");
    g_list released;
    for (std::size_t i = 0; i < won; ++i) released.push_back(*taken[i]);
    crowd.wake(released);
    if (is_last) return;
    lock(m, c);
  }
}

// Called on a goroutine, inside the runtime. Leaves the runtime.
close_outcome close_and_leave(M& m, channel& c, std::uintptr_t site) noexcept {
  lock(m, c);
  if (c.closed.load(relaxed)) {
    c.lock.release();
    leave_runtime(m);
    return close_outcome::was_closed;
  }
  c.closed.store(true, rt::release);  // pairs with the try forms and is_closed
  os::chaos_point("chan.closes");
  bool const is_waited_for = !c.receivers.is_empty() || !c.senders.is_empty();
  if (!is_waited_for) {
    c.lock.release();
    leave_runtime(m);
    return close_outcome::done;
  }
  retain_channel(&c);  // the goroutines that are woken first may drop all other references
  // One of the queues is empty, unless selects stand in both.
  detached_waiters receivers;
  detached_waiters senders;
  c.receivers.detach(receivers);
  c.senders.detach(senders);
  release_waiters(m, c, receivers, senders, site);
  leave_runtime(m);
  release_channel(&c);  // outside the runtime, because it may be the last reference
  return close_outcome::done;
}

bool is_on_goroutine_of_live_run() noexcept {
  M const* const m = current_m();
  return m != nullptr && m->current != nullptr && !m->is_foreign && m->sched.epoch == live_epoch();
}

// Called on a thread that runs no goroutine of the live run, if there is one. Returns false if goroutines of the live
// run wait here. Goroutines that an earlier run has left behind do not count.
bool close_between_runs(channel& c) noexcept {
  runtime_mark const mark;  // the caller may be a goroutine that its run has left behind
  c.lock.acquire();
  // relaxed: a goroutine that waits here knew its run's epoch, and held the lock
  bool const are_left_behind = c.epoch != Sched::live_epoch.load(relaxed);
  bool const may_close = are_left_behind || (c.receivers.is_empty() && c.senders.is_empty());
  if (may_close) c.closed.store(true, rt::release);  // as above
  c.lock.release();
  return may_close;
}

}  // namespace

[[gnu::noinline]] void close(channel* c) {
  if (c == nullptr) throw channel_closed("thrum: close of the nil channel");
  if (close_and_leave(enter_to_wait("chan::close"), *c, site_of_caller()) == close_outcome::was_closed) {
    throw channel_closed("thrum: close of a closed channel");
  }
}

[[gnu::noinline]] void close_if_open(channel* c) {
  while (!is_closed(c)) {
    // A caller outside the live run need not enter it unless goroutines of that run wait here.
    if (!is_on_goroutine_of_live_run() && close_between_runs(*c)) return;
    if (M* const m = enter_to_wake(live_epoch())) {
      static_cast<void>(close_and_leave(*m, *c, site_of_caller()));
      return;
    }
    os::chaos_point("chan.found_no_run");
  }
}

bool is_closed(channel const* c) noexcept { return c->closed.load(acquire); }  // pairs with close
std::size_t size(channel const* c) noexcept { return c == nullptr || c->timer != nullptr ? 0 : c->count.load(acquire); }
std::size_t capacity(channel const* c) noexcept { return c == nullptr || c->timer != nullptr ? 0 : c->capacity; }

}  // namespace thrum::detail
