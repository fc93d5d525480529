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
#include "wait/release_all.h"
#include <thrum/blocking.h>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace thrum::rt {
namespace {

using namespace use_words;

// When a descriptor was last closed while it was in use.
constinit atomic<std::int64_t> closed_in_use_ns{0};

std::uint32_t live_epoch() noexcept {
  return Sched::live_epoch.load(relaxed);
}  // a run's own threads have seen it since their start

// Returns the run in whose name the caller uses a descriptor. A goroutine that its run has left behind does not come
// back from here.
std::uint32_t callers_epoch() noexcept {
  std::uint32_t const live = live_epoch();
  M* const m = current_m();
  if (m != nullptr && m->current != nullptr && !m->is_foreign && m->sched.epoch != live) [[unlikely]] {
    enter(*m);
    sleep_for_good(*m);
  }
  return live;
}

use_share callers_share() noexcept {
  M const* const m = current_m();
  return m == nullptr || m->is_foreign ? use_share::outside : use_share::of_run;
}

// The first user in a run forgets the users of earlier runs. But a foreign thread may have read which run is alive
// before the present run began, and it must not forget the users of a run that it does not know of. acquire pairs with
// enter_use: a thread that saw the stamp of a run also sees that the run is alive.
bool is_newer(use_word seen, std::uint32_t epoch) noexcept {
  return epoch_of(seen) != epoch && Sched::live_epoch.load(acquire) != epoch;
}

// No handle and no user names the record.
void free_record(poll_desc& d) noexcept {
  runtime_mark const mark;  // so that a goroutine that holds the store's lock is not preempted (T01)
  free_poll_desc(d);
}

// close(fd), announced if the kernel makes the thread wait in it. It does so if the program has set SO_LINGER, whether
// the descriptor is non-blocking or not.
template <class Close>
void close_file(int fd, poll_kind kind, Close close) noexcept {
  os::poll_remove(fd);
  if (kind != poll_kind::tcp_socket || !os::lingers(fd)) return close(fd);
  blocking_scope const announced(blocking_hint::long_call);
  close(fd);
}

// Called by the user that has set `going`. The record goes first, because if the run ends while the call closes the
// file, the record may belong to another descriptor when the call returns.
void close_for_good(poll_desc& d) noexcept {
  uses_inside_run const inside;
  forget_poll_deadlines(d);
  int const fd = d.fd;
  poll_kind const kind = d.kind;
  // acq_rel pairs with drop_poll_desc: of the two, the one that comes second frees the record
  if ((d.use.fetch_or(gone, acq_rel) & dropped) != 0) free_record(d);
  close_file(fd, kind, os::close);
}

// One user less.
void leave_use(poll_desc& d, use_share whose, std::uint32_t epoch) noexcept {
  use_word seen = d.use.load(relaxed);
  use_word next = 0;
  do {
    // its run is over, and a later run has started a new count
    if (whose == use_share::of_run && epoch_of(seen) != epoch) return;
    next = left_by(seen, whose);
    // release: what this user did with the descriptor is done. acquire, for the last user: what all users did is done
  } while (!d.use.compare_exchange_weak(seen, next, acq_rel, relaxed));
  if (has_to_close(seen, next)) close_for_good(d);
}

// Sets the bits `flags` and counts one more user, if the descriptor is open and none of the bits is set.
enum class entry_result : std::uint8_t { done, is_closed, is_taken, is_of_another_run };
entry_result enter_use(poll_desc& d, use_share whose, std::uint32_t epoch, use_word flags) noexcept {
  use_word seen = d.use.load(acquire);
  use_word next = 0;
  do {
    if (is_newer(seen, epoch)) [[unlikely]]
      return entry_result::is_of_another_run;
    next = of_this_run(seen, epoch);
    if ((next & closed) != 0) return entry_result::is_closed;
    if ((next & flags) != 0) return entry_result::is_taken;
    next = with_one_more(next, whose) | flags;
    // acquire pairs with leave_use: what the user before did is done. release: see is_newer
  } while (!d.use.compare_exchange_weak(seen, next, acq_rel, acquire));
  return entry_result::done;
}

// --- the uses of a foreign thread ---

// A foreign thread's code never moves to another thread, so unlike a goroutine it may use thread-locals.
constinit thread_local poll_use* uses_of_thread = nullptr;

[[gnu::noinline]] poll_use* first_use_of_thread() noexcept { return uses_of_thread; }

}  // namespace

[[gnu::noinline]] void poll_use::list() noexcept {
  if (std::exchange(is_listed_, true)) return;
  next_ = std::exchange(uses_of_thread, this);
}

[[gnu::noinline]] void poll_use::unlist() noexcept {
  share_ = use_share::none;
  if (!std::exchange(is_listed_, false)) return;
  poll_use** link = &uses_of_thread;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
}

void poll_use::hold(poll_desc& d, use_share whose, std::uint32_t epoch, use_word outside_flag) noexcept {
  d_ = &d;
  outside_flag_ = outside_flag;
  epoch_ = epoch;
  share_ = whose;
  if (whose == use_share::outside) [[unlikely]]
    list();
}

bool poll_use::counts_in(use_word seen) const noexcept {
  return share_ == use_share::outside || (share_ == use_share::of_run && epoch_of(seen) == epoch_);
}

// If another run has begun, the use stays as it is.
void poll_use::move_into_run(std::uint32_t epoch) noexcept {
  use_word seen = d_->use.load(acquire);  // both orders as in enter_use
  use_word next = 0;
  do {
    if (is_newer(seen, epoch)) return;
    next = with_one_less(of_this_run(seen, epoch), use_share::outside);
    next = with_one_more(next, use_share::of_run) & ~outside_flag_;
  } while (!d_->use.compare_exchange_weak(seen, next, acq_rel, acquire));
  share_ = use_share::of_run;
  epoch_ = epoch;
}

// Returns false if its run is over and a later run has started a new count.
bool poll_use::move_outside() noexcept {
  use_word seen = d_->use.load(relaxed);
  use_word next = 0;
  do {
    if (epoch_of(seen) != epoch_) return false;
    next = with_one_more(with_one_less(seen, use_share::of_run), use_share::outside) | outside_flag_;
  } while (!d_->use.compare_exchange_weak(seen, next, acq_rel, relaxed));
  share_ = use_share::outside;
  return true;
}

uses_inside_run::uses_inside_run() noexcept : first_(first_use_of_thread()) {
  if (first_ == nullptr) return;
  epoch_ = live_epoch();
  for (poll_use* each = first_; each != nullptr && epoch_ != 0; each = each->next_) {
    if (each->share_ != use_share::outside) continue;
    each->move_into_run(epoch_);
    if (each->share_ == use_share::outside) epoch_ = 0;
  }
}

M* uses_inside_run::callers_m() const noexcept {
  if (first_ != nullptr && epoch_ == 0) return nullptr;
  M* const m = rt::callers_m();
  return first_ == nullptr || m == nullptr || m->sched.epoch == epoch_ ? m : nullptr;
}

void uses_inside_run::end() noexcept {
  for (poll_use* each = std::exchange(first_, nullptr); each != nullptr; each = each->next_) {
    if (each->share_ == use_share::of_run && !each->move_outside()) each->share_ = use_share::none;
  }
}

// --- calls that need no order ---

bool poll_use::begin(poll_desc& d) noexcept {
  use_share const whose = callers_share();
  for (;;) {
    std::uint32_t const epoch = callers_epoch();
    entry_result const result = enter_use(d, whose, epoch, 0);
    if (result == entry_result::is_of_another_run) continue;
    if (result == entry_result::done) hold(d, whose, epoch, 0);
    return result == entry_result::done;
  }
}

void poll_use::end(poll_desc& d) noexcept {
  use_share const whose = share_;
  unlist();
  if (whose != use_share::none) leave_use(d, whose, epoch_);
}

// --- turns ---

namespace {

// What a goroutine that waited for a direction finds when it is woken.
enum class wake_up : bool {
  with_lock,  // the holder has handed over the lock
  to_look,    // the lock may be free, or the descriptor was closed
};

// The caller is a user of the run `epoch` while it waits.
wake_up wait_for_turn(poll_desc& d, poll_side_name which, M* found, std::uint32_t epoch) {
  if (found == nullptr)
    throw std::logic_error(std::string("thrum: a descriptor is in use and would have to be waited for, but ") +
                           why_no_runtime());
  M* m = found;
  enter(*m);
  if (m->sched.epoch != live_epoch()) sleep_for_good(*m);  // its run has left it behind
  if (m->sched.epoch != epoch) {                           // this is a foreign thread that is a user of an earlier run
    leave(*m);
    return wake_up::to_look;
  }
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
  wake_up const how = self.wake_parameter == &d.side(which) ? wake_up::with_lock : wake_up::to_look;
  leave(*m);
  return how;
}

// All calls that wait for their turn look at the word again. As a rule the descriptor was closed.
void let_others_look(poll_desc& d, poll_side_name which) noexcept {
  uses_inside_run const inside;
  M* const m = inside.callers_m();
  if (m == nullptr) return;  // no call waits then
  enter(*m);
  wait_bucket& bucket = m->sched.waiters.bucket_of(&d.side(which));
  bucket.acquire();
  release_all(*m, bucket, &d.side(which));
  leave(*m);
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
poll_use::turn poll_use::begin_after_others(poll_desc& d, poll_side_name which) {
  bool const is_outsider = callers_share() == use_share::outside;
  std::uint32_t const epoch = callers_epoch();
  switch (enter_use(d, use_share::of_run, epoch, 0)) {
    case entry_result::done: break;
    case entry_result::is_closed: return turn::is_closed;
    default: return turn::may_be_taken;
  }
  auto how = wake_up::to_look;
  try {
    uses_inside_run const inside;
    how = wait_for_turn(d, which, inside.callers_m(), epoch);
  } catch (...) {
    leave_use(d, use_share::of_run, epoch);
    throw;
  }
  if (how == wake_up::to_look) {
    leave_use(d, use_share::of_run, epoch);
    return turn::may_be_taken;
  }
  hold(d, use_share::of_run, epoch, is_outsider ? held_outside(which) : 0);
  if (is_outsider) {
    if (!move_outside()) share_ = use_share::none;
    list();
  }
  return !is_lost() && look_at_last_use(d.side(which)) ? turn::is_mine : turn::may_be_taken;
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
      case turn::is_mine: return true;
      case turn::is_closed: return false;
      case turn::may_be_taken: unlist();
    }
  }
}

// Called by the holder when goroutines wait. The first of them gets the lock. Calls that come meanwhile find the
// direction locked all the time, so calls have their turns in the order in which they came. `impossible`: the
// descriptor was closed, so that all waiters have to look at it, or no run is alive in which they could go on.
poll_use::handing poll_use::hand_over(poll_side_name which) noexcept {
  uses_inside_run const inside;
  M* const m = inside.callers_m();
  if (m == nullptr || share_ != use_share::of_run) return handing::impossible;
  poll_desc& d = *d_;
  enter(*m);
  auto result = handing::impossible;
  sudog* next = nullptr;
  if (m->sched.epoch == epoch_) {
    wait_bucket& bucket = m->sched.waiters.bucket_of(&d.side(which));
    bucket.acquire();
    use_word seen = d.use.load(relaxed);
    if (epoch_of(seen) == epoch_ && (seen & closed) == 0) {
      bool more = false;
      next = bucket.dequeue(&d.side(which), more);
      result = next != nullptr ? handing::done : handing::none_waits;
      use_word changed = 0;
      do {
        if (epoch_of(seen) != epoch_) break;  // this is a foreign thread that the end of its run found here
        changed = next != nullptr ? with_one_less(seen, use_share::of_run) : seen;
        if (!more) changed &= ~crowded(which);
        // release: what was done with the descriptor is done, as in leave_use. `crowded` is ordered by the bucket's
        // lock
      } while (!d.use.compare_exchange_weak(seen, changed, acq_rel, relaxed));
    }
    if (next != nullptr) next->g->wake_parameter = &d.side(which);
    bucket.release();
  }
  if (result == handing::done) share_ = use_share::none;
  if (next != nullptr) ready(*m, *next->g);
  leave(*m);
  return result;
}

void poll_use::end(poll_desc& d, poll_side_name which) noexcept {
  use_word seen = d.use.load(relaxed);
  use_word next = 0;
  bool in_order = true;
  for (;;) {
    if (!counts_in(seen)) return unlist();  // its run is over, or the use was lost
    bool const others_wait = (seen & (crowded(which) | closed)) == crowded(which) && epoch_of(seen) == live_epoch();
    if (others_wait && in_order) {
      handing const how = hand_over(which);
      if (how == handing::done) return unlist();
      in_order = how == handing::none_waits;
      seen = d.use.load(relaxed);
      continue;
    }
    next = left_by(seen, share_) & ~(locked(which) | held_outside(which) | crowded(which));
    // orders as in leave_use. A call that begins to wait meanwhile makes this fail
    if (d.use.compare_exchange_weak(seen, next, acq_rel, relaxed)) break;
  }
  unlist();
  if ((seen & crowded(which)) != 0) let_others_look(d, which);
  if (has_to_close(seen, next)) close_for_good(d);
}

namespace {

// The descriptor was closed in a run that ended before all its users had left. The goroutines among them never will.
// Outsiders come back.
void close_without_users(poll_desc& d, use_word seen, std::uint32_t epoch) noexcept {
  while (epoch_of(seen) != 0 && epoch_of(seen) != epoch && !is_newer(seen, epoch) &&
         (seen & (closed | going)) == closed) {
    use_word next = of_this_run(seen, epoch);
    if (users_in(next) == 0) next |= going;
    if (!d.use.compare_exchange_weak(seen, next, acq_rel, relaxed)) continue;
    if (has_to_close(seen, next)) close_for_good(d);
    return;
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
      100'000'000;  // a call that does not wait is over by then, unless its thread gets no CPU
  std::int64_t const then_ns = closed_in_use_ns.load(relaxed);
  return then_ns != 0 && os::monotonic_ns() - then_ns < lately_ns;
}

bool close_poll_desc(poll_desc& d) noexcept {
  use_share const whose = callers_share();
  std::uint32_t epoch = callers_epoch();
  use_word seen = d.use.load(acquire);
  use_word next = 0;
  do {
    if (is_newer(seen, epoch)) epoch = live_epoch();
    next = of_this_run(seen, epoch);
    if ((next & closed) != 0) {
      close_without_users(d, seen, epoch);
      return false;
    }
    // The caller's share is the owner's.
    next = with_one_more(with_one_less(next, use_share::of_run), whose) | closed;
  } while (!d.use.compare_exchange_weak(seen, next, seq_cst, acquire));  // step 1 of the waker in core/poll_desc.h
  poll_use last;
  last.hold(d, whose, epoch, 0);
  wake_poll_waiters(d);
  // acquire pairs with leave_use, as for the last user. The caller's share keeps the number from being given to another
  // file.
  if (!last.is_lost() && users_in(d.use.load(acquire)) > 1) {
    close_file(d.fd, d.kind, os::close_but_keep_number);
    closed_in_use_ns.store(os::monotonic_ns(), relaxed);  // relaxed: it is a hint
  }
  last.end(d);
  return true;
}

void drop_poll_desc(poll_desc& d) noexcept {
  static_cast<void>(close_poll_desc(d));
  if ((d.use.fetch_or(dropped, acq_rel) & gone) != 0) free_record(d);  // pairs with close_for_good
}

}  // namespace thrum::rt
