// select (Go's selectgo): carries out one of several sends and receives, one that can proceed.
//
//  0. The cases are looked at one by one, in random order and without locks. The first one that looks ready is tried
//     under its own channel's lock. This is usually all: a case that is carried out was ready at that instant.
//  1. If none was ready, all channels are locked, in the order of their addresses, so that two selects can never wait
//     for each other. The cases are tried once more, and are seen at one instant.
//  2. If none is ready, the goroutine enters the queue of every channel and parks. Its commit step unlocks all of them.
//  3. The waker that wins the goroutine's race (core/wake_race.h) carries out the case and wakes the goroutine; or the
//     time limit wins. The goroutine then locks all channels and leaves the other queues.
//
// The cases lie on the goroutine's stack. The commit step reads them while it unlocks, and the goroutine may be awake
// by then. But it cannot get past step 3 and leave the frame before the last of the locks is free.
//
// The other party may destroy all channels of the select as soon as its part of the exchange is done, because they may
// live in its frame. So step 1 releases the lock of the chosen channel last. Step 3 comes after the exchange is done,
// so the goroutine holds references to all channels while it waits.
#include "chan/channel.h"
#include "core/current.h"
#include "core/sched.h"
#include "os/chaos.h"
#include "sched/park.h"
#include "sched/timekeeper.h"
#include "sched/timers.h"
#include "sync/wait.h"
#include "wait/wait_timer.h"
#include <thrum/chan.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <new>

namespace thrum::detail {

using namespace rt;

namespace {

struct case_list {
  channel_waiter* cases;
  std::size_t count;

  [[nodiscard]] channel* nth_locked(std::size_t i) const noexcept { return cases[cases[i].locked_as].on; }

  // A channel that is named twice is locked once. nil comes first in the order, and is skipped.
  template <class F>
  void for_each_channel(F visit) const noexcept {
    channel* last = nullptr;
    for (std::size_t i = 0; i < count; ++i) {
      channel* const c = nth_locked(i);
      if (c == last) continue;
      last = c;
      visit(*c);
    }
  }

  void lock_all(M& m) const noexcept {
    auto how = os::ranked::yes;
    bool in_time = true;
    for_each_channel([&](channel& c) {
      in_time = c.take_lock(m.sched.epoch, how) && in_time;
      how = os::ranked::no;
      os::chaos_point("select.locks");
    });
    if (in_time) [[likely]]
      return;
    unlock_all(last_locked());
    sleep_for_good(m);
  }
  // `last` is released last, after the last access to the cases.
  void unlock_all(channel* last) const noexcept {
    auto how = os::ranked::yes;
    for_each_channel([&](channel& c) {
      if (&c == last) return;
      c.lock.release(how);
      how = os::ranked::no;
    });
    if (last != nullptr) last->lock.release(how);
  }
  [[nodiscard]] channel* last_locked() const noexcept { return count == 0 ? nullptr : nth_locked(count - 1); }

  // Fisher-Yates shuffle, inside out: every order is equally likely.
  void choose_order_to_try(P& p) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t const j = (p.random.next() >> 32U) * (i + 1) >> 32U;
      cases[i].tried_as = cases[j].tried_as;
      cases[j].tried_as = static_cast<std::uint16_t>(i);
    }
  }

  // Shellsort. It is an insertion sort for the few cases that a select usually has, which are named in much the same
  // order each time, and it takes tolerable time for thousands.
  void sort_to_lock() noexcept {
    for (std::size_t i = 0; i < count; ++i) cases[i].locked_as = static_cast<std::uint16_t>(i);
    std::size_t gap = 1;
    while (gap < count / 9) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) {
      for (std::size_t i = gap; i < count; ++i) {
        std::uint16_t const moved = cases[i].locked_as;
        std::size_t at = i;
        for (; at >= gap && std::less<>()(cases[moved].on, nth_locked(at - gap)); at -= gap) {
          cases[at].locked_as = cases[at - gap].locked_as;
        }
        cases[at].locked_as = moved;
      }
    }
  }

  // Tries the cases in the chosen order. Returns the first one that could be carried out, or count.
  template <class Try>
  std::size_t first_done(Try carry_out) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t const index = cases[i].tried_as;
      channel_waiter& one = cases[index];
      if (one.on == nullptr) continue;
      attempt const outcome = carry_out(one);
      if (outcome == attempt::would_block) continue;
      one.completed = outcome == attempt::done;
      return index;
    }
    return count;
  }

  static attempt try_locked(channel_waiter& one, G*& other) noexcept {
    return one.sends ? send_locked(*one.on, one.parcel, other) : receive_locked(*one.on, one.parcel, other);
  }

  // Step 0.
  std::size_t try_one_by_one(M& m, G*& other) noexcept {
    return first_done([&](channel_waiter& one) noexcept {
      channel& c = *one.on;
      if (!c.closed.load(relaxed) && (one.sends ? c.looks_full() : c.looks_empty())) return attempt::would_block;
      lock(m, c);
      attempt const outcome = try_locked(one, other);
      c.lock.release();
      return outcome;
    });
  }

  // Step 1, under all locks.
  std::size_t try_all(G*& other) noexcept {
    return first_done([&](channel_waiter& one) noexcept { return try_locked(one, other); });
  }

  // In the chosen order as well: of a channel that is named twice, the case that comes first in its queue is taken.
  void enter_queues(G& g) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      channel_waiter& one = cases[cases[i].tried_as];
      if (one.on == nullptr) continue;
      one.g = &g;
      one.is_select = true;
      one.completed = false;
      queue_of(one).push_back(one);
    }
  }
  void leave_queues() noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if (cases[i].on != nullptr) queue_of(cases[i]).remove(cases[i]);
    }
  }
  static waiter_queue& queue_of(channel_waiter& one) noexcept {
    return one.sends ? one.on->senders : one.on->receivers;
  }
};

struct parked_select {
  case_list list;
  wait_timer* limit;  // nullptr: none
};

// A goroutine whose time limit has passed cannot leave the frame before the last lock is free. Without any channel it
// can, so nothing is touched after the timer has started.
void commit_select(M& m, G&, void* argument) noexcept {
  auto const& parked = *static_cast<parked_select*>(argument);
  channel* const last = parked.list.last_locked();
  added_as const place = parked.limit != nullptr ? parked.limit->start(m) : added_as::later;
  os::chaos_point("select.committed");
  if (last != nullptr) parked.list.unlock_all(last);
  timer_was_left(m, place);
}

// Steps 2 and 3, with all channels locked. Returns the case, or count if the time limit came first.
std::size_t wait_for_one(M*& m, case_list list, wait_timer* limit) noexcept {
  G& g = *m->current;
  list.enter_queues(g);
  g.race.begin();
  parked_select parked{list, limit};
  m = &park(*m, wait_reason::select, commit_select, &parked, commit_holds::lock);
  bool const timed_out = limit != nullptr && limit->finish(g);
  auto* const winner = static_cast<channel_waiter*>(g.wake_parameter);
  os::chaos_point("select.woken");
  list.lock_all(*m);
  list.leave_queues();
  list.unlock_all(list.last_locked());
  g.race.over();
  return timed_out ? list.count : static_cast<std::size_t>(winner - list.cases);
}

}  // namespace

[[gnu::noinline]] std::size_t select(channel_waiter* cases, std::size_t count, std::int64_t patience_ns) {
  if (count > std::numeric_limits<std::uint16_t>::max()) {
    throw channel_error("thrum: a select can have at most 65,535 cases");
  }
  M* m = &enter_to_wait("select");
  case_list list{cases, count};
  list.choose_order_to_try(*m->p);
  G* other = nullptr;
  std::size_t chosen = list.try_one_by_one(*m, other);
  bool has_waited = false;
  if (chosen == count) {
    os::chaos_point("select.tried");
    list.sort_to_lock();
    if (patience_ns == for_ever_ns && list.last_locked() == nullptr) {
      sleep_for_good(*m, wait_reason::empty_select);
    }
    wait_timer limit;
    bool const limited = patience_ns != 0 && patience_ns != for_ever_ns;
    if (limited && !limit.prepare(*m, time_after(timer_clock_ns(), patience_ns))) {
      leave_runtime(*m);
      throw std::bad_alloc();
    }
    list.lock_all(*m);
    chosen = list.try_all(other);
    if (chosen == count && patience_ns != 0) {
      has_waited = true;
      list.for_each_channel([](channel& c) { retain_channel(&c); });
      chosen = wait_for_one(m, list, limited ? &limit : nullptr);
    } else {
      list.unlock_all(chosen == count ? list.last_locked() : cases[chosen].on);
      if (limited) limit.discard();
    }
  }
  if (other != nullptr) ready(*m, *other, site_of_caller());
  if (patience_ns != 0) m = &yield_if_asked(*m);
  leave_runtime(*m);
  if (has_waited) {
    // outside the runtime, because it may be the last reference
    list.for_each_channel([](channel& c) { release_channel(&c); });
  }
  if (chosen != count && cases[chosen].sends && !cases[chosen].completed) throw_closed_for_sending();
  return chosen;
}

}  // namespace thrum::detail
