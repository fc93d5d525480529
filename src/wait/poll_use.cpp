#include "wait/poll_use.h"

#include "base/check.h"
#include "core/forked.h"
#include "core/poll_table.h"
#include "os/clock.h"
#include "os/socket.h"
#include "sched/park.h"
#include "sched/records.h"
#include "sched/timers.h"
#include "wait/poll_wait.h"
#include <thrum/blocking.h>

#include <new>
#include <stdexcept>
#include <string>

namespace thrum::rt {
namespace {

using use_word = std::uint64_t;
constexpr use_word one_user = 1;
constexpr use_word users_mask = 0xffff'ffff;
constexpr use_word closed = use_word{1} << 32U;
constexpr use_word dropped = use_word{1} << 37U;  // no handle names it
constexpr use_word gone = use_word{1} << 38U;     // the descriptor is closed
constexpr use_word for_good = closed | dropped | gone;
constexpr unsigned epoch_shift = 48;

// When a descriptor was closed while others used it, last.
constinit atomic<std::int64_t> closed_in_use_ns{0};

use_word locked(poll_side_name which) noexcept { return use_word{1} << (33U + static_cast<unsigned>(which)); }
use_word crowded(poll_side_name which) noexcept { return use_word{1} << (35U + static_cast<unsigned>(which)); }

std::uint32_t live_epoch() noexcept { return Sched::live_epoch.load(relaxed); }  // whoever is in a run knows it

// The run in whose name the caller uses a descriptor. A goroutine that its run has left behind does not come back.
std::uint32_t callers_epoch() noexcept {
  std::uint32_t const live = live_epoch();
  M* const m = current_m();
  if (m != nullptr && m->current != nullptr && !m->is_foreign && m->sched.epoch != live) [[unlikely]] {
    enter(*m);
    sleep_for_good(*m);
  }
  return live;
}

use_word stamp(std::uint32_t epoch) noexcept { return use_word{epoch} << epoch_shift; }
std::uint32_t epoch_of(use_word seen) noexcept { return static_cast<std::uint32_t>(seen >> epoch_shift); }

// Without those whose run is over.
use_word of_this_run(use_word seen, std::uint32_t epoch) noexcept {
  if (epoch_of(seen) == epoch) return seen;
  return stamp(epoch) | (seen & for_good) | ((seen & closed) != 0 ? 0 : one_user);
}

use_word with_one_more(use_word seen) noexcept {
  if ((seen & users_mask) == users_mask) fatal("too many goroutines use one descriptor at the same time");
  return seen + one_user;
}

// Nobody names it any more.
void free_record(poll_desc& d) noexcept {
  runtime_mark const mark;  // nobody is preempted who holds the store's lock (T01)
  free_poll_desc(d);
}

// close(d.fd), announced if the kernel makes the thread wait in it: it does if the program has set SO_LINGER, non-blocking or not.
template <class Close>
void close_file(poll_desc const& d, Close close) noexcept {
  os::poll_remove(d.fd);
  if (d.kind != poll_kind::tcp_socket || !os::lingers(d.fd)) return close(d.fd);
  blocking_scope const announced(blocking_hint::long_call);
  close(d.fd);
}

void close_for_good(poll_desc& d) noexcept {
  forget_poll_deadlines(d);
  close_file(d, os::close);
  // acq_rel pairs with drop_poll_desc: whoever comes second frees the record
  if ((d.use.fetch_or(gone, acq_rel) & dropped) != 0) free_record(d);
}

// One user less, and without `flags`, of which those that were set are answered.
use_word leave_use(poll_desc& d, std::uint32_t epoch, use_word flags) noexcept {
  use_word seen = d.use.load(relaxed);
  use_word next = 0;
  do {
    if (epoch_of(seen) != epoch) return 0;  // its run is over, and somebody counts anew
    THRUM_DCHECK((seen & users_mask) != 0);
    next = (seen - one_user) & ~flags;
    // release: what was done with the descriptor is done; acquire, of the last one: so it is for all
  } while (!d.use.compare_exchange_weak(seen, next, acq_rel, relaxed));
  if ((next & closed) != 0 && (next & users_mask) == 0) close_for_good(d);
  return seen & flags;
}

M& enter_to_use() {
  M* const m = callers_m();
  if (m == nullptr)
    throw std::logic_error(std::string("thrum: a descriptor is in use and would have to be waited for, but ") +
                           why_no_runtime());
  enter(*m);
  if (m->sched.epoch != live_epoch()) sleep_for_good(*m);  // its run has left it behind
  return *m;
}

// What a goroutine that waited for a direction finds.
enum class turn : std::uint8_t {
  is_mine,       // the holder has handed over the lock, and its share as a user with it
  may_be_taken,  // nobody may hold the lock, or the descriptor was closed
};

// The caller is a user while it waits.
turn wait_for_turn(poll_desc& d, poll_side_name which) {
  M* m = &enter_to_use();
  sudog* const waiter = take_sudog(*m->p);
  if (waiter == nullptr) {
    leave(*m);
    throw std::bad_alloc();
  }
  G& self = *m->current;
  waiter->g = &self;
  self.wake_parameter = nullptr;
  wait_bucket& bucket = m->sched.waiters.bucket_of(&d.side(which));
  bucket.acquire();
  use_word seen = d.use.load(relaxed);
  bool waits = false;
  do {
    waits = epoch_of(seen) == m->sched.epoch && (seen & closed) == 0 && (seen & locked(which)) != 0;
    // relaxed: the holder that unlocks sees it in the same word, and then takes the bucket's lock
  } while (waits && !d.use.compare_exchange_weak(seen, seen | crowded(which), relaxed, relaxed));
  if (waits) {
    bucket.enqueue(*waiter, &d.side(which), queue_end::back);
    m = &park(
        *m, wait_reason::io, [](M&, G&, void* its) noexcept { static_cast<wait_bucket*>(its)->release(); }, &bucket,
        commit_holds::lock);
  } else {
    bucket.release();
  }
  put_sudog(*m->p, waiter);
  turn const its = self.wake_parameter == &d.side(which) ? turn::is_mine : turn::may_be_taken;
  leave(*m);
  return its;
}

// By the holder, when goroutines wait: the first of them gets the lock and the holder's share as a user. Newcomers find it locked all
// the time, so the order is that of coming. False: it was closed, so that all are to look, or none waits.
bool hand_over(poll_desc& d, poll_side_name which, std::uint32_t epoch) noexcept {
  M* const m = callers_m();
  if (m == nullptr) return false;  // then none waits
  enter(*m);
  sudog* next = nullptr;
  if (m->sched.epoch == epoch) {  // else the holder, on a thread from outside, outlived its run
    wait_bucket& bucket = m->sched.waiters.bucket_of(&d.side(which));
    bucket.acquire();
    use_word seen = d.use.load(relaxed);
    bool more = false;
    if (epoch_of(seen) == epoch && (seen & closed) == 0) next = bucket.dequeue(&d.side(which), more);
    if (next != nullptr) next->g->wake_parameter = &d.side(which);
    bool const was_last = next != nullptr && !more;
    // relaxed: it is set under the bucket's lock too, which orders them
    while (was_last && epoch_of(seen) == epoch &&
           !d.use.compare_exchange_weak(seen, seen & ~crowded(which), relaxed, relaxed)) {
    }
    bucket.release();
  }
  if (next != nullptr) ready(*m, *next->g);
  leave(*m);
  return next != nullptr;
}

// All who wait for their turn look again: the descriptor was closed, as a rule.
void let_others_look(poll_desc& d, poll_side_name which) noexcept {
  M* const m = callers_m();
  if (m == nullptr) return;  // then none waits
  enter(*m);
  wait_bucket& bucket = m->sched.waiters.bucket_of(&d.side(which));
  g_list waiting;
  bucket.acquire();
  for (bool more = true; more;) {
    if (sudog* const next = bucket.dequeue(&d.side(which), more)) waiting.push_back(*next->g);
  }
  bucket.release();
  ready_all(*m, waiting);
  leave(*m);
}

// Those whose run is over are forgotten by whoever comes first in the next one. But a thread from outside may have looked which run
// is alive before that one began: it must not forget those of a run that it does not know of yet. acquire pairs with enter_use: whose
// stamp was seen, his run is known.
bool is_newer(use_word seen, std::uint32_t epoch) noexcept {
  return epoch_of(seen) != epoch && Sched::live_epoch.load(acquire) != epoch;
}

// Sets bits and counts one more, if it is open and none of them is set.
enum class entry_result : std::uint8_t { done, is_closed, is_taken, is_of_another_run };
entry_result enter_use(poll_desc& d, std::uint32_t epoch, use_word flags) noexcept {
  use_word seen = d.use.load(acquire);
  use_word next = 0;
  do {
    if (is_newer(seen, epoch)) [[unlikely]]
      return entry_result::is_of_another_run;
    next = of_this_run(seen, epoch);
    if ((next & closed) != 0) return entry_result::is_closed;
    if ((next & flags) != 0) return entry_result::is_taken;
    next = with_one_more(next) | flags;
    // acquire pairs with leave_use: what the one before did is done. release: see is_newer
  } while (!d.use.compare_exchange_weak(seen, next, acq_rel, acquire));
  return entry_result::done;
}

// A goroutine that an earlier run stopped may have been about to read what an event had told it of.
void look_at_last_use(poll_side& side, std::uint32_t epoch) noexcept {
  if (side.used_in == epoch && epoch != 0) return;
  side.used_in = epoch;
  side.drained = false;
  see_old_deadline(side);
}

}  // namespace

bool poll_use::begin(poll_desc& d) noexcept {
  entry_result result;
  do {
    epoch_ = callers_epoch();
    result = enter_use(d, epoch_, 0);
  } while (result == entry_result::is_of_another_run);
  return result == entry_result::done;
}

void poll_use::end(poll_desc& d) noexcept { static_cast<void>(leave_use(d, epoch_, 0)); }

bool poll_use::begin(poll_desc& d, poll_side_name which) {
  for (;;) {
    epoch_ = callers_epoch();
    switch (enter_use(d, epoch_, locked(which))) {
      case entry_result::done: look_at_last_use(d.side(which), epoch_); return true;
      case entry_result::is_closed: return false;
      case entry_result::is_of_another_run: continue;
      case entry_result::is_taken: break;
    }
    poll_use while_waiting;
    if (!while_waiting.begin(d)) return false;
    turn its;
    try {
      its = wait_for_turn(d, which);
    } catch (...) {
      while_waiting.end(d);
      throw;
    }
    while_waiting.end(d);
    if (its == turn::is_mine) {
      epoch_ = while_waiting.epoch();
      return true;
    }
  }
}

void poll_use::end(poll_desc& d, poll_side_name which) noexcept {
  // relaxed: one that comes to wait later is seen by leave_use
  if ((d.use.load(relaxed) & crowded(which)) != 0 && hand_over(d, which, epoch_)) return;
  use_word const had = leave_use(d, epoch_, locked(which) | crowded(which));
  if ((had & crowded(which)) != 0) let_others_look(d, which);
}

namespace {

// It was closed in a run that ended before all its users had left: they never will. Those who used it while there was no run come back.
void close_without_users(poll_desc& d, use_word seen, std::uint32_t epoch) noexcept {
  while (epoch_of(seen) != 0 && epoch_of(seen) != epoch && !is_newer(seen, epoch) &&
         (seen & (closed | gone)) == closed) {
    if (d.use.compare_exchange_weak(seen, of_this_run(seen, epoch), acq_rel, relaxed)) return close_for_good(d);
  }
}

}  // namespace

void close_what_nobody_names() noexcept {
  while (poll_desc* const d = find_poll_desc([](poll_desc const& each) noexcept {
           use_word const seen = each.use.load(relaxed);
           return epoch_of(seen) != 0 && (seen & for_good) == (closed | dropped);
         })) {
    close_without_users(*d, d->use.load(relaxed), 0);
  }
}

void own_poll_desc(poll_desc& d) noexcept {
  d.use.store(stamp(live_epoch()) | one_user, release);  // pairs with enter_use
}

bool is_closed(poll_desc const& d) noexcept { return (d.use.load(seq_cst) & closed) != 0; }

bool was_closed_in_use_lately() noexcept {
  constexpr std::int64_t lately_ns =
      100'000'000;  // a call that does not wait is over by then, unless its thread gets no processor
  std::int64_t const then_ns = closed_in_use_ns.load(relaxed);
  return then_ns != 0 && os::monotonic_ns() - then_ns < lately_ns;
}

bool close_poll_desc(poll_desc& d) noexcept {
  std::uint32_t epoch = live_epoch();
  use_word seen = d.use.load(acquire);
  use_word next = 0;
  do {
    if (is_newer(seen, epoch)) epoch = live_epoch();
    next = of_this_run(seen, epoch);
    if ((next & closed) != 0) {
      close_without_users(d, seen, epoch);
      return false;
    }
    next |= closed;
  } while (!d.use.compare_exchange_weak(seen, next, seq_cst, acquire));  // step 1 of the right column in poll_desc.h
  wake_poll_waiters(d);
  // acquire pairs with leave_use, as for the last user. The owner's share keeps the number from being given to another file.
  if ((d.use.load(acquire) & users_mask) > one_user) {
    close_file(d, os::close_but_keep_number);
    closed_in_use_ns.store(os::monotonic_ns(), relaxed);  // relaxed: it is a hint
  }
  static_cast<void>(leave_use(d, epoch, 0));
  return true;
}

void drop_poll_desc(poll_desc& d) noexcept {
  static_cast<void>(close_poll_desc(d));
  if ((d.use.fetch_or(dropped, acq_rel) & gone) != 0) free_record(d);  // pairs with close_for_good
}

}  // namespace thrum::rt
