#include "chan/channel.h"

#include "core/current.h"
#include "core/sched.h"
#include "os/chaos.h"
#include "sched/park.h"
#include "sched/queues.h"
#include "sched/timers.h"
#include "sync/wait.h"
#include <thrum/chan.h>

#include <new>
#include <stdexcept>
#include <string>

namespace thrum::detail {

using namespace rt;

namespace {

// More than any address space holds; below it the product of capacity and size cannot overflow.
constexpr std::size_t buffer_bytes_max = std::size_t{1} << 47U;

void release_lock(M&, G&, void* c) noexcept { static_cast<channel*>(c)->lock.release(); }

[[noreturn, gnu::noinline]] void wait_on_nil(char const* what, wait_reason reason) {
  sleep_for_good(enter_to_wait(what), reason);
}

// Enters the queue, which is locked with the channel, and parks. Answers whether the parcel has changed hands.
[[gnu::noinline]] bool wait_in_queue(M& m, channel& c, waiter_queue& queue, void* parcel, wait_reason reason) noexcept {
  channel_waiter waiter;
  waiter.parcel = parcel;
  waiter.g = m.current;
  queue.push_back(waiter);
  os::chaos_point("chan.queued");
  leave(park(m, reason, release_lock, &c, commit_holds::lock));
  return waiter.completed;
}

void ready_and_leave(M& m, G* other) noexcept {
  os::chaos_point("chan.unlocked");
  if (other != nullptr) ready(m, *other);
  leave(m);
}

// For calls that might have waited. What asks for room has come during the call, as a rule: so it is looked at last.
void ready_make_room_and_leave(M& m, G* other) noexcept {
  os::chaos_point("chan.unlocked");
  if (other != nullptr) ready(m, *other);
  leave(make_room_if_asked(m));
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
    first_.store(waiter.next, relaxed);  // relaxed: as above; close takes everybody out
  } else {
    waiter.previous->next = waiter.next;
  }
  if (waiter.next == nullptr) {
    last_ = waiter.previous;
  } else {
    waiter.next->previous = waiter.previous;
  }
}

bool waiter_queue::win(channel_waiter& waiter) noexcept {
  if (!waiter.is_select) return true;
  if (!waiter.g->race.win()) return false;
  waiter.g->wake_parameter = &waiter;  // which case it was
  return true;
}

channel_waiter* waiter_queue::pop_select() noexcept {
  while (channel_waiter* const first = first_.load(relaxed)) {
    unlink_first(*first);
    if (win(*first)) return first;
  }
  return nullptr;
}

void waiter_queue::pop_all(g_list& to) noexcept {
  channel_waiter* each = first_.load(relaxed);
  first_.store(nullptr, rt::release);  // pairs with looks_empty: closed is set already
  last_ = nullptr;
  for (; each != nullptr; each = each->next) {
    each->is_queued = false;
    if (win(*each)) to.push_back(*each->g);
  }
}

void throw_closed_for_sending() { throw channel_closed("thrum: send on a closed channel"); }

channel* make_channel(std::size_t capacity, parcel_type const& type) {
  if (capacity > buffer_bytes_max / type.bytes) {
    throw channel_error("thrum: a channel of capacity " + std::to_string(capacity) + " for elements of " +
                        std::to_string(type.bytes) + " bytes does not fit any memory");
  }
  void* const memory = ::operator new(sizeof(channel) + capacity * type.bytes);
  return ::new (memory) channel(capacity, type);
}

void retain_channel(channel* c) noexcept {
  if (c != nullptr) c->references.fetch_add(1U, relaxed);  // relaxed: the caller has a reference already
}

void release_channel(channel* c) noexcept {
  // acq_rel: what others did with the channel is over before it is destroyed
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

void send(channel* c, void* parcel) {
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
  ready_make_room_and_leave(m, other);
  if (outcome == attempt::closed) [[unlikely]]
    throw_closed_for_sending();
}

bool receive(channel* c, void* parcel) {
  if (c == nullptr) [[unlikely]]
    wait_on_nil("a receive", wait_reason::receive_on_nil);
  M& m = enter_to_wait("chan::recv");
  G* other = nullptr;
  lock(m, *c);
  attempt const outcome = receive_locked(*c, parcel, other);
  if (outcome == attempt::would_block) return wait_in_queue(m, *c, c->receivers, parcel, wait_reason::chan_receive);
  c->lock.release();
  ready_make_room_and_leave(m, other);
  return outcome == attempt::done;
}

// Found full and after that still open: it was both when it was found full. In the other order it need never have been
// both: closing an unbuffered channel takes its receivers away.
bool would_block_to_send(channel const* c) noexcept {
  return c == nullptr || (c->looks_full() && !c->closed.load(acquire));  // pairs with close
}

attempt try_send(channel* c, void* parcel) {
  if (would_block_to_send(c)) return attempt::would_block;
  os::chaos_point("chan.looked");
  M& m = enter_to_wait("chan::try_send");
  G* other = nullptr;
  lock(m, *c);
  attempt const outcome = send_locked(*c, parcel, other);
  c->lock.release();
  ready_and_leave(m, other);
  if (outcome == attempt::closed) throw_closed_for_sending();
  return outcome;
}

// Found empty and after that still open: it was both when it was found empty. Found empty, then closed, then still empty:
// nothing can come any more.
attempt try_receive(channel* c, void* parcel) {
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
  ready_and_leave(m, other);
  return outcome;
}

namespace {

enum class closing : bool { done, was_closed };

// On a goroutine, inside the runtime; leaves it.
closing close_and_leave(M& m, channel& c) noexcept {
  lock(m, c);
  if (c.closed.load(relaxed)) {
    c.lock.release();
    leave(m);
    return closing::was_closed;
  }
  c.closed.store(true, rt::release);  // pairs with the try forms and is_closed
  os::chaos_point("chan.closes");
  g_list released;
  c.receivers.pop_all(released);
  c.senders.pop_all(released);
  c.lock.release();
  os::chaos_point("chan.closed");
  ready_all(m, released);
  leave(m);
  return closing::done;
}

// While no run is alive nobody waits, but for such as their run has left behind.
void close_between_runs(channel& c) noexcept {
  static_cast<void>(c.take_lock(Sched::live_epoch.load(relaxed)));  // relaxed: whoever began a run has told this thread
  c.closed.store(true, rt::release);                                // as above
  c.lock.release();
}

}  // namespace

void close(channel* c) {
  if (c == nullptr) throw channel_closed("thrum: close of the nil channel");
  if (close_and_leave(enter_to_wait("chan::close"), *c) == closing::was_closed) {
    throw channel_closed("thrum: close of a closed channel");
  }
}

void close_if_open(channel* c) {
  if (is_closed(c)) return;
  M* const m = callers_m();
  if (m == nullptr) {
    close_between_runs(*c);
  } else {
    enter(*m);
    static_cast<void>(close_and_leave(*m, *c));
  }
}

bool is_closed(channel const* c) noexcept { return c->closed.load(acquire); }  // pairs with close
std::size_t size(channel const* c) noexcept { return c == nullptr || c->timer != nullptr ? 0 : c->count.load(acquire); }
std::size_t capacity(channel const* c) noexcept { return c == nullptr || c->timer != nullptr ? 0 : c->capacity; }

}  // namespace thrum::detail
