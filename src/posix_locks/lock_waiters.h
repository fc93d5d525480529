// Goroutines that wait for a mutex or a condition variable of the C library, by its address (T08).
//
// glibc's mutex alone says which thread holds it. Plain threads lock it as usual and sleep in its futex. A goroutine
// only tries to lock it (trylock). If that fails, the goroutine enters the bucket of the mutex's address and parks
// there until it is chosen. Then it tries again:
//
//   the waiter                                    the thread or goroutine that unlocks
//   1. enters the bucket, under its lock          1. unlocks the mutex, with glibc
//   2. full barrier                               2. full barrier
//   3. tries, under the bucket's lock             3. looks whether the bucket is empty. If it is not, it chooses,
//   4. parks, unless it was chosen since             under the bucket's lock, the first waiter for this address that
//                                                    is not chosen
//
// Why no wake-up is lost:
// (a) The try of a waiter W has failed, so a holder H had the mutex. H's barrier (2) comes after W's barrier. If it
//     came before, W's try would have found what H's unlock wrote, or something later. So H finds that the bucket is
//     not empty and takes its lock. If H takes the lock after W's try, W is in the bucket. H then chooses W or another
//     waiter for this address, or all of them are chosen already. If H took the lock before W's try, the try came after
//     H's unlock, so it has met a later holder, to which the same argument applies.
// (b) A chosen waiter tries afterwards, in the same hold of the bucket's lock in which its choice is cleared. If the
//     try fails, another holder has the mutex, and by (a) that one chooses a waiter when it unlocks. If the try
//     succeeds, the waiter itself unlocks some day. So it does no harm that a chosen waiter is not chosen a second
//     time, nor that another thread was quicker.
// (c) A waiter whose time is over tries once more, in the same hold of the lock in which it leaves, and chooses another
//     waiter in its place. (b) does not require that choice, but (d) does. A waiter that gives up for want of memory
//     has to choose another one, because the mutex may be free and no thread is going to unlock it.
// (d) Inside pthread_cond_wait, glibc unlocks the mutex itself and does not look at the bucket. A goroutine is not
//     affected, because its wait consists of an unlock and a lock of this library. A plain thread T does three things
//     before that call. It notes the pair of the mutex and its owner T in a table (`unseen`), it executes a full
//     barrier, and it looks at the bucket and chooses a waiter, as if it had unlocked. After a failed try, W reads the
//     mutex's owner and looks that pair up in the table. If the pair is there, or the owner is not known, W parks only
//     for a moment and tries again, and so on.
//
//     If T's barrier comes before W's, W sees T's note. By the same barriers, the owner that W sees is T, or none, or a
//     later owner, which must have locked the mutex after T released it. If T's barrier comes after W's, T chooses W or
//     another waiter, which tries after that and sees the note.
//
//     So one of the waiters looks from moment to moment. It gets the mutex, or it sees an owner that is not in the
//     table, or it hands this duty over when it gives up (c). This costs only the microseconds that T needs from its
//     note to its sleep. T may sleep for hours, but it is not the owner then.
//
// After the unlock only the mutex's address is used, because the next owner may have freed the mutex. What is chosen is
// a place in a list, on the stack of a goroutine that waits. If another mutex is at that address by then, the waiter
// tries in vain.
//
// Fairness. As with glibc, a thread that comes by may be quicker than the chosen waiter. The waiter keeps its place,
// before all waiters that came later. But it can continue only on its own thread, where it is at home. If a goroutine
// that unlocks sees that a waiter was chosen before and waits for this very thread, it yields once. Otherwise a
// goroutine that never waits could keep the mutex from the waiters that share its thread.
//
// A goroutine in user code that chooses a waiter makes it ready itself. Any other thread that chooses may be one that
// must not wait for a P, in a signal handler, or about to end. As close does (posix/watch.h), it marks the waiter with
// signals blocked and notifies the inner poll, and the thread that polls wakes the waiter. Inside the runtime, where
// the thread may hold the bucket's lock, it only notes the bucket. Then all waiters in that bucket are woken and try.
//
// Condition variables have buckets of the same kind. A goroutine enters, unlocks the mutex, parks until it is chosen,
// and locks the mutex. A thread that changes what the goroutine waits for does so under the mutex, so after that
// unlock, and therefore finds the goroutine in the bucket. The goroutine leaves its place under the bucket's lock and
// sees there whether it was chosen. So a timeout takes no signal away from other waiters.
//
// A broadcast has many waiters, and so may a notification, so both visit a bucket in chunks and release its lock in
// between (bucket_walk). A broadcast wakes the waiters that were in the bucket when it began, and counts as done from
// that moment: goroutines that enter meanwhile wait for the next one, a signal passes over the waiters that the
// broadcast has yet to choose, and such a waiter was signalled even if its time is over before it is chosen. Otherwise
// a signal could be spent on a waiter that is woken anyway, and a goroutine that came later would wait for ever.
#pragma once

#include "base/atomic.h"
#include "base/check.h"
#include "core/current.h"
#include "core/sched.h"
#include "core/status.h"
#include "os/lock.h"
#include "posix/watch.h"
#include "posix_locks/address_buckets.h"
#include "posix_locks/caller.h"
#include "sched/park.h"

#include <cstdint>

#include <errno.h>
#include <pthread.h>

namespace thrum::posix {

// A visit of all waiters that were in a bucket when it began. The thread that walks releases the bucket's lock between
// chunks, so waiters may enter and leave meanwhile. It lives on that thread's stack. All fields are under the lock.
struct bucket_walk {
  void const* broadcast_to;  // it chooses all waiters for this address; nullptr if it is no broadcast
  std::uint64_t until;       // the number of the last waiter that it visits
  lock_waiter* at;           // the waiter that it visits next. A waiter that leaves moves it on
  bucket_walk* next;
};

enum class how_many : bool { one, all };

// One waiting goroutine in a bucket, for the length of a call. Used on a goroutine, in user code, at home
// (sched/home.h).
class lock_waiter {
 public:
  lock_waiter(void const* address, waited_object what) noexcept;
  ~lock_waiter() { THRUM_DCHECK(!is_in_bucket_); }
  lock_waiter(lock_waiter const&) = delete;
  lock_waiter& operator=(lock_waiter const&) = delete;

  // Enters the bucket. Returns false, without entering, if there is no inner poll by which it could be woken.
  [[nodiscard]] bool enter() noexcept;

  // Calls tries() under the bucket's lock, inside the runtime. Leaves the bucket if the result is not EBUSY, or if this
  // is the last try.
  enum class last_time : bool { no, yes };
  template <class Try>
  [[nodiscard]] int attempt(last_time is_last, Try tries) noexcept {
    rt::M& m = *rt::current_m();
    rt::enter_runtime(m);
    rt::g_list runnable;
    int result = 0;
    {
      rt::os::lock_guard const guard(bucket_.lock);
      forget_choice();
      result = tries();
      if (result != EBUSY || is_last == last_time::yes) leave_locked();
      if (result != 0 && !is_in_bucket_) choose_another(runnable);
    }
    rt::ready_all(m, runnable);
    rt::leave_runtime(m);
    return result;
  }

  // Parks until it is chosen or the monotonic clock shows deadline_ns. Spurious wake-ups are possible. Returns false,
  // without parking, if there is no memory.
  [[nodiscard]] bool park(std::int64_t deadline_ns) noexcept;

  [[nodiscard]] bool is_chosen() noexcept;
  // Leaves the bucket. Returns true if it was chosen, or a broadcast that is under way has yet to choose it.
  bool leave() noexcept;

 private:
  friend class lock_waiters;
  // under the bucket's lock
  void forget_choice() noexcept;
  void leave_locked() noexcept;
  void choose_another(rt::g_list& runnable) noexcept;

  void const* const address_;
  rt::M const& home_;
  rt::Sched& run_;
  std::uint32_t const epoch_;  // the run's
  waited_object const what_;
  address_bucket& bucket_;
  // under the bucket's lock
  lock_waiter* before_ = nullptr;
  lock_waiter* next_ = nullptr;
  std::uint64_t number_ = 0;  // how many waiters had entered the bucket when this one had
  bool is_in_bucket_ = false;
  bool is_chosen_ = false;
  bool is_to_be_woken_ = false;  // the thread that polls next is to wake it
  // The word on which it parks. It is accessed under the lock of its bucket in the wait table. It is aligned like a
  // word, because other addresses are those of locks (sync/lock_holders.h).
  alignas(8) bool is_set_ = false;
};

// Chooses waiters for this address, if there are any.
void choose_slow(void const* address, waited_object what, how_many count) noexcept;

// Says that a mutex at this address was unlocked. May be called anywhere.
inline void was_unlocked(void const* address) noexcept {
  rt::store_load_fence();  // pairs with lock_waiter::enter
  // acquire pairs with lock_waiters::enter: the waiter has set the process of waiters (posix/watch.h) before it entered
  if (bucket_of(address, waited_object::mutex).first.load(rt::acquire) != nullptr) [[unlikely]]
    choose_slow(address, waited_object::mutex, how_many::one);
}

// Says that a condition variable at this address was signalled. There is no barrier, because each waiter has held the
// mutex before it waited.
inline void was_signalled(void const* address, how_many count) noexcept {
  if (bucket_of(address, waited_object::condition).first.load(rt::acquire) != nullptr) [[unlikely]]  // acquire as above
    choose_slow(address, waited_object::condition, count);
}

// --- unlocked unseen: (d) ---

// Lives while the plain thread that owns the mutex is in a call in which glibc unlocks the mutex itself.
class [[nodiscard]] unlocked_unseen {
 public:
  explicit unlocked_unseen(pthread_mutex_t const& mutex) noexcept;
  ~unlocked_unseen();
  unlocked_unseen(unlocked_unseen const&) = delete;
  unlocked_unseen& operator=(unlocked_unseen const&) = delete;

 private:
  rt::atomic<std::uint32_t>& note_;
};

// Asked after a failed try. True if the holder may unlock the mutex without looking at the bucket.
[[nodiscard]] bool may_be_unlocked_unseen(pthread_mutex_t const& mutex) noexcept;

}  // namespace thrum::posix
