// The order of the calls on one direction of a descriptor. wait/poll_use.h has the protocol.
#include "core/current.h"
#include "core/forked.h"
#include "core/sched.h"
#include "sched/park.h"
#include "sched/records.h"
#include "wait/poll_use.h"
#include "wait/poll_wait.h"
#include "wait/release_all.h"
#include "wait/use_count.h"

#include <new>
#include <stdexcept>
#include <string>

namespace thrum::rt {

using namespace use_words;

namespace {

// What a goroutine that waited for a direction finds when it is woken.
enum class turn_wake_up : bool {
  with_lock,  // the holder has handed over the lock
  to_look,    // the lock may be free, or the descriptor was closed
};

// The caller is a user of the run `epoch` while it waits.
turn_wake_up wait_for_turn(poll_desc& d, poll_side_name which, M* found, std::uint32_t epoch) {
  if (found == nullptr)
    throw std::logic_error(std::string("thrum: a call on a descriptor would have to wait for another call, but ") +
                           why_no_runtime());
  M* m = found;
  enter_runtime(*m);
  if (m->sched.epoch != epoch_alive()) sleep_for_good(*m);  // its run has left it behind
  if (m->sched.epoch != epoch) {                            // this is a foreign thread that is a user of an earlier run
    leave_runtime(*m);
    return turn_wake_up::to_look;
  }
  sudog* const waiter = take_sudog(*m->p);
  if (waiter == nullptr) {
    leave_runtime(*m);
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
    waits = epoch_of(seen) == epoch && (seen & closed) == 0 && (seen & locked(which)) != 0;
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
  turn_wake_up const how = self.wake_parameter == &d.side(which) ? turn_wake_up::with_lock : turn_wake_up::to_look;
  leave_runtime(*m);
  return how;
}

// All calls that wait for their turn look at the word again. As a rule the descriptor was closed.
void let_others_look(poll_desc& d, poll_side_name which) noexcept {
  uses_inside_run const inside;
  M* const m = inside.callers_m();
  if (m == nullptr || !enter_if_alive(*m)) return;  // no call waits then
  wait_bucket& bucket = m->sched.waiters.bucket_of(&d.side(which));
  bucket.acquire();
  release_all(*m, bucket, &d.side(which));
  leave_runtime(*m);
}

}  // namespace

// Called by the holder of the direction's lock. A goroutine that an earlier run stopped may have been about to read the
// data that an event had announced, so `drained` is void in a new run. Returns false if the use is lost.
bool poll_use::look_at_last_use(poll_side& side) noexcept {
  if (side.used_in == epoch_ && epoch_ != 0) return true;
  side.used_in = epoch_;
  side.drained = false;
  uses_inside_run inside;
  see_old_deadline(side, inside.callers_m());
  inside.end();
  return !is_lost();
}

// Another call holds the direction's lock.
poll_use::turn_outcome poll_use::begin_after_others(poll_desc& d, poll_side_name which) {
  bool const is_outsider = callers_share() == use_share::outside;
  std::uint32_t const epoch = callers_epoch();
  switch (enter_use(d, use_share::of_run, epoch, 0)) {
    case entry_result::done: break;
    case entry_result::is_closed: return turn_outcome::is_closed;
    default: return turn_outcome::may_be_taken;
  }
  auto how = turn_wake_up::to_look;
  try {
    uses_inside_run const inside;
    how = wait_for_turn(d, which, inside.callers_m(), epoch);
  } catch (...) {
    leave_use(d, use_share::of_run, epoch);
    throw;
  }
  if (how == turn_wake_up::to_look) {
    leave_use(d, use_share::of_run, epoch);
    return turn_outcome::may_be_taken;
  }
  hold(d, use_share::of_run, epoch, is_outsider ? held_outside(which) : 0);
  if (is_outsider) {
    if (!move_outside()) share_ = use_share::none;
    list();
  }
  return !is_lost() && look_at_last_use(d.side(which)) ? turn_outcome::is_mine : turn_outcome::may_be_taken;
}

bool poll_use::begin(poll_desc& d, poll_side_name which) {
  use_share const whose = callers_share();
  use_word const outside_flag = whose == use_share::outside ? held_outside(which) : 0;
  for (;;) {
    std::uint32_t const epoch = callers_epoch();
    switch (enter_use(d, whose, epoch, locked(which) | outside_flag)) {
      case entry_result::done:
        hold(d, whose, epoch, outside_flag);
        if (look_at_last_use(d.side(which))) return true;
        unlist();
        continue;
      case entry_result::is_closed: return false;
      case entry_result::is_of_another_run: continue;
      case entry_result::is_taken: break;
    }
    switch (begin_after_others(d, which)) {
      case turn_outcome::is_mine: return true;
      case turn_outcome::is_closed: return false;
      case turn_outcome::may_be_taken: unlist();
    }
  }
}

// Called by the holder when goroutines wait. The first of them gets the lock. Calls that come meanwhile find the
// direction locked all the time, so calls have their turns in the order in which they came. `impossible`: the
// descriptor was closed, so that all waiters have to look at it, or no run is alive in which they could go on.
poll_use::hand_over_outcome poll_use::hand_over(poll_side_name which) noexcept {
  uses_inside_run const inside;
  M* const m = inside.callers_m();
  if (m == nullptr || share_ != use_share::of_run || !enter_if_alive(*m)) return hand_over_outcome::impossible;
  poll_desc& d = *d_;
  auto result = hand_over_outcome::impossible;
  sudog* next = nullptr;
  if (m->sched.epoch == epoch_) {
    wait_bucket& bucket = m->sched.waiters.bucket_of(&d.side(which));
    bucket.acquire();
    use_word seen = d.use.load(relaxed);
    if (epoch_of(seen) == epoch_ && (seen & closed) == 0) {
      bool more = false;
      next = bucket.dequeue(&d.side(which), more);
      result = next != nullptr ? hand_over_outcome::done : hand_over_outcome::none_waits;
      use_word changed = 0;
      do {
        if (epoch_of(seen) != epoch_) break;  // this is a foreign thread that the end of its run found here
        changed = next != nullptr ? with_one_less(seen, use_share::of_run) : seen;
        if (!more) changed &= ~crowded(which);
        // release: what was done with the descriptor is done, as in leave_unless_changed. `crowded` is ordered by the
        // bucket's lock
      } while (!d.use.compare_exchange_weak(seen, changed, acq_rel, relaxed));
    }
    if (next != nullptr) next->g->wake_parameter = &d.side(which);
    bucket.release();
  }
  if (result == hand_over_outcome::done) share_ = use_share::none;
  if (next != nullptr) ready(*m, *next->g);
  leave_runtime(*m);
  return result;
}

void poll_use::end(poll_desc& d, poll_side_name which) noexcept {
  use_word seen = d.use.load(relaxed);
  use_word next = 0;
  bool in_order = true;
  for (;;) {
    if (!counts_in(seen)) return unlist();  // its run is over, or the use was lost
    bool const others_wait = (seen & (crowded(which) | closed)) == crowded(which) && epoch_of(seen) == epoch_alive();
    if (others_wait && in_order) {
      hand_over_outcome const how = hand_over(which);
      if (how == hand_over_outcome::done) return unlist();
      in_order = how == hand_over_outcome::none_waits;
      seen = d.use.load(relaxed);
      continue;
    }
    next = left_by(seen, share_) & ~(locked(which) | held_outside(which) | crowded(which));
    if (leave_unless_changed(d, seen, next)) break;  // a call that begins to wait meanwhile makes this fail
  }
  unlist();
  if ((seen & crowded(which)) != 0) let_others_look(d, which);
  if (has_to_close(seen, next)) forget_record(d);
}

}  // namespace thrum::rt
