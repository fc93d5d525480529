#include "posix_locks/lock_waiters.h"

#include "base/heuristics.h"
#include "os/chaos.h"
#include "os/descriptor_watch.h"
#include "posix/bucket_set.h"
#include "posix/here.h"
#include "posix/signals_blocked.h"
#include "posix_locks/kinds.h"
#include "posix_locks/owners.h"
#include "sched/timers.h"
#include "sync/wait.h"

#include <new>
#include <utility>

#include <errno.h>

namespace thrum::posix {

using namespace rt;

// The part of `lock_waiter` that the bucket table uses. All functions are called under the bucket's lock.
class lock_waiters {
 public:
  static void enter(lock_waiter& one) noexcept {
    address_bucket& bucket = one.bucket_;
    one.is_in_bucket_ = true;
    one.number_ = ++bucket.entered;
    one.next_ = nullptr;
    one.before_ = std::exchange(bucket.last, &one);
    if (bucket.unchosen == nullptr) bucket.unchosen = &one;
    if (one.before_ == nullptr) {
      bucket.first.store(&one, release);  // pairs with was_unlocked; lock_waiter::enter has the barrier
    } else {
      one.before_->next_ = &one;
    }
  }

  static void leave(lock_waiter& one) noexcept {
    if (!std::exchange(one.is_in_bucket_, false)) return;
    address_bucket& bucket = one.bucket_;
    for (bucket_walk* walk = bucket.walks; walk != nullptr; walk = walk->next) {
      if (walk->at == &one) walk->at = one.next_;
    }
    if (bucket.unchosen == &one) bucket.unchosen = one.next_;
    if (one.is_chosen_) --bucket.chosen;
    if (one.before_ == nullptr) {
      bucket.first.store(one.next_, relaxed);  // relaxed: an unlock that sees the old value only looks in vain
    } else {
      one.before_->next_ = one.next_;
    }
    (one.next_ == nullptr ? bucket.last : one.next_->before_) = one.before_;
  }

  // The run whose waiters a caller visits, and the run that is alive. Waiters of other runs are dropped.
  //
  // It is made under the bucket's lock. A waiter enters under that lock while its run is alive, so a caller that reads
  // live_epoch under the lock knows of the run of every waiter in the bucket. A caller that had read it before could
  // take a waiter of the next run for one of a run that is over, and drop it. Its goroutine would never be woken.
  struct runs {
    explicit runs(std::uint32_t visited) noexcept : own(visited == live_run ? live : visited) {}
    [[nodiscard]] bool visits(lock_waiter const& one) const noexcept { return one.epoch_ == own; }
    [[nodiscard]] bool is_over(lock_waiter const& one) const noexcept {
      return one.epoch_ != own && one.epoch_ != live;
    }

    std::uint32_t const live = Sched::live_epoch.load(relaxed);
    std::uint32_t const own;
  };
  static constexpr std::uint32_t live_run = 0;  // a caller that belongs to no run visits the run that is alive

  // Visits the waiters of a run, from `first` on, until visit(waiter) returns false. Drops those of runs that are over.
  template <class F>
  static void for_each(lock_waiter* first, std::uint32_t epoch, F visit) noexcept {
    runs const seen(epoch);
    for (lock_waiter* each = first; each != nullptr;) {
      lock_waiter& one = *std::exchange(each, each->next_);
      if (seen.is_over(one)) {
        leave(one);
      } else if (seen.visits(one) && !visit(one)) {
        return;
      }
    }
  }

  // The waiter is in the bucket.
  static void choose(lock_waiter& one) noexcept {
    address_bucket& bucket = one.bucket_;
    if (!std::exchange(one.is_chosen_, true)) ++bucket.chosen;
    if (bucket.unchosen == &one) bucket.unchosen = one.next_;
  }
  static void forget_choice(lock_waiter& one) noexcept {
    if (!std::exchange(one.is_chosen_, false) || !one.is_in_bucket_) return;
    address_bucket& bucket = one.bucket_;
    --bucket.chosen;
    if (bucket.unchosen == nullptr || one.number_ < bucket.unchosen->number_) bucket.unchosen = &one;
  }

  // Chooses the first waiter for this address that is not chosen, and calls chosen(waiter) for it. It passes over the
  // chosen waiters at the head of the bucket, and over those that a broadcast has yet to choose, at once. So a thread
  // that chooses one after the other of a crowd does not hold the lock for longer and longer.
  template <class F>
  static void choose_one(address_bucket& bucket, void const* address, std::uint32_t epoch, F chosen) noexcept {
    for_each(first_to_choose(bucket, address), epoch, [&](lock_waiter& one) {
      if (one.address_ != address || one.is_chosen_) return true;
      choose(one);
      chosen(one);
      return false;
    });
  }

  // No waiter for this address before the result is to be chosen.
  static lock_waiter* first_to_choose(address_bucket const& bucket, void const* address) noexcept {
    lock_waiter* first = bucket.unchosen;
    std::uint64_t passed = 0;
    for (bucket_walk const* walk = bucket.walks; walk != nullptr; walk = walk->next) {
      if (walk->broadcast_to == address && walk->until > passed) passed = walk->until;
    }
    if (first == nullptr || first->number_ > passed) return first;
    first = nullptr;
    // The waiters that came after the broadcast are few, because it takes a moment only.
    for (lock_waiter* at = bucket.last; at != nullptr && at->number_ > passed; at = at->before_) first = at;
    return first;
  }

  // Whether a broadcast that is under way has yet to choose this waiter.
  static bool is_about_to_be_chosen(lock_waiter const& one) noexcept {
    if (!one.is_in_bucket_ || one.is_chosen_) return false;
    bucket_walk const* walk = one.bucket_.walks;
    while (walk != nullptr && (walk->broadcast_to != one.address_ || one.number_ > walk->until)) walk = walk->next;
    return walk != nullptr;
  }

  // Calls visit(waiter), under the bucket's lock, for the waiters of this run that are in the bucket. The lock is not
  // held on entry, between chunks and on return. It calls released() each time that it has released the lock. Drops the
  // waiters of runs that are over.
  template <class Visit, class Released>
  static void visit_in_chunks(address_bucket& bucket, std::uint32_t epoch, void const* broadcast_to, Visit visit,
                              Released released) noexcept {
    bucket.lock.acquire();
    runs const seen(epoch);  // no waiter of a later run is visited: its number is higher
    bucket_walk walk{broadcast_to, bucket.entered, bucket.first.load(relaxed), bucket.walks};
    begin(bucket, walk);
    auto const is_over = [&] { return walk.at == nullptr || walk.at->number_ > walk.until; };
    for (;;) {
      for (std::uint32_t left = woken_at_once; left > 0 && !is_over(); --left) {
        lock_waiter& one = *std::exchange(walk.at, walk.at->next_);
        if (seen.is_over(one)) {
          leave(one);
        } else if (seen.visits(one)) {
          visit(one);
        }
      }
      bool const more = !is_over();
      if (!more) end(bucket, walk);
      bucket.lock.release();
      os::chaos_point("locks.released");
      released();
      if (!more) return;
      for (int i = 0; i < 16; ++i) cpu_relax();  // half a microsecond, in which threads that spin see the lock free
      bucket.lock.acquire();
    }
  }

  // Chooses all waiters for this address that are not chosen, and calls chosen(waiter) for each, as above.
  template <class Chosen, class Released>
  static void choose_all(address_bucket& bucket, void const* address, std::uint32_t epoch, Chosen chosen,
                         Released released) noexcept {
    visit_in_chunks(
        bucket, epoch, address,
        [&](lock_waiter& one) {
          if (one.address_ != address || one.is_chosen_) return;
          choose(one);
          chosen(one);
        },
        released);
  }

  static void set_word(lock_waiter& one, g_list& runnable) noexcept {
    wait_bucket& bucket = one.run_.waiters.bucket_of(&one.is_set_);
    bucket.acquire();
    one.is_set_ = true;
    g_list taken = take_all(bucket, &one.is_set_);
    bucket.release();
    while (G* const g = taken.pop_front()) runnable.push_back(*g);
  }

  static void wake_if_noted(lock_waiter& one, g_list& runnable) noexcept {
    if (std::exchange(one.is_to_be_woken_, false)) set_word(one, runnable);
  }
  static void wake_anyway(lock_waiter& one, g_list& runnable) noexcept {
    choose(one);
    set_word(one, runnable);
  }
  static void note(lock_waiter& one) noexcept { one.is_to_be_woken_ = true; }

  // Whether a chosen waiter for this address waits for m's thread. If the first waiters do not tell, the answer is that
  // one does: the caller then makes way for a moment, perhaps in vain, instead of looking at a crowd under the lock.
  static bool any_chosen_waits_for(M const& m, address_bucket& bucket, void const* address) noexcept {
    if (bucket.chosen == 0) return false;
    bool any = false;
    int left = chosen_looked_at_max;
    for_each(bucket.first.load(relaxed), m.sched.epoch, [&](lock_waiter& one) {
      any = (one.address_ == address && one.is_chosen_ && &one.home_ == &m) || --left == 0;
      return !any;
    });
    return any;
  }

 private:
  // Not inlined, because gcc 12 would warn of a local variable that stays in the list.
  [[gnu::noinline]] static void begin(address_bucket& bucket, bucket_walk& walk) noexcept { bucket.walks = &walk; }
  static void end(address_bucket& bucket, bucket_walk const& walk) noexcept {
    bucket_walk** link = &bucket.walks;
    while (*link != &walk) link = &(*link)->next;
    *link = walk.next;
  }
};

namespace {

using address_bucket_set = bucket_set<2 * buckets_of_each>;
constinit address_bucket_set with_noted{};  // a waiter there has is_to_be_woken_ set
constinit address_bucket_set to_look_at{};  // all waiters there have to be woken and try

std::size_t number_of(address_bucket const& bucket) noexcept {
  return static_cast<std::size_t>(&bucket - address_buckets.data());
}

// Called by the thread that polls, after a notification.
void wake_noted(std::uint32_t epoch, g_list& runnable) noexcept {
  auto const wake_in_each = [&](address_bucket_set& of, void (*wake)(lock_waiter&, g_list&) noexcept) {
    of.take_each([&](std::size_t index) {
      lock_waiters::visit_in_chunks(
          address_buckets[index], epoch, nullptr, [&](lock_waiter& one) { wake(one, runnable); }, [] {});
    });
  };
  wake_in_each(with_noted, lock_waiters::wake_if_noted);
  wake_in_each(to_look_at, lock_waiters::wake_anyway);
}

// For each pair of a mutex and its owner, by a hash of both: how many such pairs are in a call in which glibc unlocks
// the mutex. If two pairs have the same hash, waiters only try more often than necessary.
constexpr std::size_t unseen_count = 16'384;
constinit std::array<atomic<std::uint32_t>, unseen_count> unseen{};
atomic<std::uint32_t>& unseen_of(pthread_mutex_t const& mutex, int owner) noexcept {
  std::uint64_t const key = reinterpret_cast<std::uintptr_t>(&mutex) ^ std::uint64_t{static_cast<unsigned>(owner)}
                                                                           << 40U;
  return unseen[(key * 0x9E3779B97F4A7C15U >> 40U) % unseen_count];
}

// Runs in the child of a fork. Forgets the parent's waiters, and the locks and calls in which its other threads were.
void forget_in_child() noexcept {
  // All relaxed, because the child has only one thread. Words that are 0 are not written, because each written page
  // would be copied for the child.
  note_fork_in_child();
  for (auto& each : unseen) {
    if (each.load(relaxed) != 0) each.store(0, relaxed);
  }
  if (!buckets_are_used.load(relaxed)) return;
  buckets_are_used.store(false, relaxed);
  for (address_bucket& bucket : address_buckets) new (&bucket) address_bucket();
  with_noted.clear();
  to_look_at.clear();
  forget_owners_in_child();
}

[[maybe_unused]] bool const children_forget = ::pthread_atfork(note_fork, note_fork_in_parent, forget_in_child) == 0;

}  // namespace

// --- the waiter ---

lock_waiter::lock_waiter(void const* address, waited_object what) noexcept
    : address_(address),
      home_(*current_m()),
      run_(home_.sched),
      epoch_(run_.epoch),
      what_(what),
      bucket_(bucket_to_lock(address, what)) {}

bool lock_waiter::enter() noexcept {
  M& m = *current_m();
  rt::enter_runtime(m);
  bool const can_be_woken = has_inner_poll();
  if (can_be_woken) {
    on_notify(wake_noted);
    os::lock_guard const guard(bucket_.lock);
    lock_waiters::enter(*this);
    store_load_fence();  // pairs with was_unlocked, and with unlocked_unseen
  }
  rt::leave_runtime(m);
  os::chaos_point("locks.entered");
  return can_be_woken;
}

void lock_waiter::forget_choice() noexcept {
  lock_waiters::forget_choice(*this);
  is_to_be_woken_ = false;
  wait_bucket& bucket = run_.waiters.bucket_of(&is_set_);
  bucket.acquire();
  is_set_ = false;
  bucket.release();
}

void lock_waiter::leave_locked() noexcept { lock_waiters::leave(*this); }

void lock_waiter::choose_another(g_list& runnable) noexcept {
  lock_waiters::choose_one(bucket_, address_, epoch_, [&](lock_waiter& one) { lock_waiters::set_word(one, runnable); });
}

bool lock_waiter::park(std::int64_t deadline_ns) noexcept {
  M& m = *current_m();
  rt::enter_runtime(m);
  rt::poll_state::waiter const counts(run_.poll);  // see sched/poll.h
  os::chaos_point("locks.parks");
  auto const reason = what_ == waited_object::mutex ? wait_reason::mutex : wait_reason::condition_variable;
  m.current->waits_since_ns.store(timer_clock_ns(), relaxed);  // relaxed: published with the status `waiting`
  try {
    static_cast<void>(wait_if(
        m, &is_set_, reason, deadline_ns == without_limit ? no_deadline : deadline_ns, [&] { return !is_set_; },
        [] {}));
  } catch (...) {
    return false;
  }
  return true;
}

bool lock_waiter::is_chosen() noexcept {
  runtime_mark const mark;
  os::lock_guard const guard(bucket_.lock);
  return is_chosen_;
}

bool lock_waiter::leave() noexcept {
  runtime_mark const mark;
  os::lock_guard const guard(bucket_.lock);
  bool const was_chosen = is_chosen_ || lock_waiters::is_about_to_be_chosen(*this);
  lock_waiters::leave(*this);
  return was_chosen;
}

// --- the thread that unlocks or signals ---

namespace {

void choose_one_and_ready(address_bucket& bucket, void const* address, waited_object what) noexcept {
  M& m = *current_m();
  enter_runtime(m);
  g_list runnable;
  bool gives_way = false;
  {
    os::lock_guard const guard(bucket.lock);
    gives_way = what == waited_object::mutex && lock_waiters::any_chosen_waits_for(m, bucket, address);
    lock_waiters::choose_one(bucket, address, m.sched.epoch,
                             [&](lock_waiter& one) { lock_waiters::set_word(one, runnable); });
  }
  os::chaos_point("locks.chosen");
  ready_all(m, runnable);
  leave_runtime(m);
  if (!gives_way) return;
  at_home const here;
  thrum::yield();
}

void choose_all_and_ready(address_bucket& bucket, void const* address) noexcept {
  M& m = *current_m();
  enter_runtime(m);
  crowd_to_wake crowd(m);
  g_list runnable;
  lock_waiters::choose_all(
      bucket, address, m.sched.epoch,
      [&](lock_waiter& one) {
        lock_waiters::leave(one);  // so that later signals do not have to pass over it
        lock_waiters::set_word(one, runnable);
      },
      [&] { crowd.wake(runnable); });
  leave_runtime(m);
}

bool choose_and_note(address_bucket& bucket, void const* address, how_many count) noexcept {
  signals_blocked const quiet;
  bool any = false;
  auto const note = [&](lock_waiter& one) {
    lock_waiters::note(one);
    any = true;
  };
  if (count == how_many::all) {
    lock_waiters::choose_all(bucket, address, lock_waiters::live_run, note, [] {});
  } else {
    os::lock_guard const guard(bucket.lock);
    lock_waiters::choose_one(bucket, address, lock_waiters::live_run, note);
  }
  return any;
}

}  // namespace

THRUM_OPAQUE void choose_slow(void const* address, waited_object what, how_many count) noexcept {
  int const errno_before = errno;
  address_bucket& bucket = bucket_of(address, what);
  if (locks_park() && !must_not_park()) {
    if (count == how_many::one) {
      choose_one_and_ready(bucket, address, what);
    } else {
      choose_all_and_ready(bucket, address);
    }
  } else if (is_process_of_waiters()) {
    if (!holds_no_bucket()) {
      to_look_at.add(number_of(bucket));
      os::notify_inner_poll();
    } else if (choose_and_note(bucket, address, count)) {
      with_noted.add(number_of(bucket));
      os::notify_inner_poll();
    }
  }
  errno = errno_before;
}

// --- unlocked unseen ---

// All relaxed, because the barriers give the order. A note that is seen for too long only costs a try in vain.
unlocked_unseen::unlocked_unseen(pthread_mutex_t const& mutex) noexcept : note_(unseen_of(mutex, owner_of(mutex))) {
  note_.fetch_add(1U, relaxed);
  was_unlocked(&mutex);
}

unlocked_unseen::~unlocked_unseen() { note_.fetch_sub(1U, relaxed); }

bool may_be_unlocked_unseen(pthread_mutex_t const& mutex) noexcept {
  int const owner = owner_of(mutex);
  return owner == 0 || unseen_of(mutex, owner).load(relaxed) != 0;
}

}  // namespace thrum::posix
