// Goroutines that wait for a mutex or a condition variable of the C library, by its address (T08).
//
// glibc's mutex stays the truth. Plain threads lock it as ever and sleep in its futex; a goroutine only tries (trylock). If it is another's,
// it stands in a bucket by the mutex's address and parks there until it is chosen, and then it tries again:
//
//   who waits                                      who unlocks, whatever thread it is
//   1. enters the bucket, under its lock           1. unlocks, by glibc
//   2. a full barrier                              2. a full barrier
//   3. tries, under the bucket's lock              3. looks whether anybody stands in the bucket. If so, under its lock, chooses the
//   4. parks, unless it was chosen since              first of this address that is not chosen yet
//
// Why no wake-up is lost:
//  (a) A try has failed: somebody had the mutex, H. His barrier (2) comes after that of the one who waits, W. Were it before, the try would
//      have found what H's unlock wrote, or something later. So H finds the bucket not empty and takes its lock. If he has it after the
//      try, W stands there: it is chosen, or another of its address is, or all are already. If he had it before, the try came
//      after his unlock, and what it has found was a later owner, of whom the same is said.
//  (b) Whoever is chosen tries afterwards: under the lock under which it ceases to be chosen. If that fails, somebody else has the mutex by
//      then, and (a) says that he chooses again when he unlocks. If it does not, it unlocks some day itself. So it does no harm that one
//      who is chosen already is not chosen again, nor that somebody else was quicker.
//  (c) Whoever gives up, since its time is over, has tried once more under the lock under which it leaves, and chooses another
//      one in its place. Strictly (b) would do; but see (d). Whoever gives up since it cannot have the mutex, for want of memory, has to: the
//      mutex may be free, and nobody is going to unlock it.
//  (d) glibc unlocks a mutex by itself, inside pthread_cond_wait, and nobody looks at the bucket then. On a goroutine that does not happen: its wait is
//      made of an unlock and a lock of ours. A plain thread T does before that call:
//         1. notes the mutex with its owner, T, in a table (unseen)    2. a full barrier    3. looks at the bucket, and chooses one, as if it had unlocked
//      and W, after a try that has failed, looks at the mutex's owner, and in that table. If both are there, or the owner is not known, W parks for a moment only,
//      and tries again, and so on. If T's barrier is before W's, W sees T's note, and as the owner T (by the same barriers), nobody, or somebody later, who had to lock
//      it after T has let it go. If it comes after, T chooses W or another one, who tries after that and sees the note. One of those who wait is then
//      looking from moment to moment; it gets the mutex, or sees that another one has it who is not in the table, or hands this over when it gives up (c).
//      Only those microseconds are spent so that T needs from its note to its sleep: T may sleep for hours, but is not the owner then.
//
// After the unlock only the mutex's address is used: its next owner may have freed it. All that is chosen is a place in a list, on the stack of a
// goroutine that waits; if another mutex is at that address by now, it tries for nothing.
//
// Fairness: as glibc's, whoever comes by may be quicker than who was chosen. That one keeps its place, before all who came later. But it can go on only on
// its own thread. If the one who unlocks sees that somebody was chosen before and waits for this very thread, it gives way once: otherwise two who
// share a thread, of whom one never waits, would have the mutex for themselves.
//
// Who chooses readies, if it is a goroutine in user code. Anybody else may be on a thread that should not wait for a processor, in a handler, at the end of a thread:
// as in close (posix/watch.h) it marks the place, with signals blocked, and rings; whoever polls wakes it. Inside the runtime, where its thread may hold
// that lock, it notes the bucket only, and all who stand there are woken and try.
//
// For condition variables there are buckets of the same kind. A goroutine enters, unlocks the mutex, parks until it is chosen, and locks again. Whoever changes what it
// waits for does so under the mutex: after that unlock, and therefore he finds it there. Its place is left under the lock, where it is seen whether
// it was chosen: so a limit of time takes no signal from others.
#pragma once

#include "base/atomic.h"
#include "base/check.h"
#include "core/current.h"
#include "core/sched.h"
#include "core/status.h"
#include "os/lock.h"
#include "posix/watch.h"
#include "posix_locks/caller.h"
#include "sched/park.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include <errno.h>
#include <pthread.h>

namespace thrum::posix {

class place;
struct owned_mutex;

struct alignas(rt::cache_line_bytes) address_bucket {
  rt::os::lock lock{rt::lock_rank::descriptor};
  // under the lock; whether there is one, also read without
  rt::atomic<place*> first{nullptr};
  place* last = nullptr;
  owned_mutex* owned = nullptr;  // see owners.h
};

enum class how_many : bool { one, all };
enum class about : bool { mutex, condition };

// Those who wait for mutexes stand apart from those who wait for conditions: these may be many, for long, and every unlock looks whether a
// bucket is empty.
inline constexpr unsigned bucket_bits = 10;
inline constexpr std::size_t buckets_of_each = std::size_t{1} << bucket_bits;
extern std::array<address_bucket, 2 * buckets_of_each> address_buckets;

[[nodiscard]] inline address_bucket& bucket_of(void const* address, about what) noexcept {
  auto const key = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address));
  // Fibonacci's: objects lie at regular distances.
  std::size_t const index = key * 0x9E3779B97F4A7C15U >> (64 - bucket_bits);
  return address_buckets[what == about::mutex ? index : buckets_of_each + index];
}

// The same for whoever is about to lock it: from now on a child of fork has something to forget.
extern rt::atomic<bool> buckets_are_used;
[[nodiscard]] inline address_bucket& bucket_to_lock(void const* address, about what) noexcept {
  if (!buckets_are_used.load(rt::relaxed)) [[unlikely]] {
    buckets_are_used.store(true, rt::relaxed);
    rt::store_load_fence();  // before the lock: whoever forks may do so now
  }
  return bucket_of(address, what);
}

// One goroutine that waits, for the length of a call. On a goroutine, in user code, at home.
class place {
 public:
  place(void const* address, about what) noexcept;
  ~place() { THRUM_DCHECK(!is_in_bucket_); }
  place(place const&) = delete;
  place& operator=(place const&) = delete;

  // False: nobody could wake it here, and it stands nowhere.
  [[nodiscard]] bool enter() noexcept;

  // Tries under the bucket's lock, inside the runtime. Leaves if that was not in vain (EBUSY), or it is the last time.
  enum class last_time : bool { no, yes };
  template <class Try>
  [[nodiscard]] int attempt(last_time is_last, Try tries) noexcept {
    rt::M& m = *rt::current_m();
    rt::enter(m);
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
    rt::leave(m);
    return result;
  }

  // Parks until it is chosen or the monotonic clock shows deadline_ns; may be for nothing. False: no memory, it has not.
  [[nodiscard]] bool park(std::int64_t deadline_ns) noexcept;

  [[nodiscard]] bool is_chosen() noexcept;
  // True: it was chosen.
  bool leave() noexcept;

 private:
  friend class places;
  // under the bucket's lock
  void forget_choice() noexcept;
  void leave_locked() noexcept;
  void choose_another(rt::g_list& runnable) noexcept;

  void const* const address_;
  rt::M const& home_;
  rt::Sched& run_;
  std::uint32_t const epoch_;  // the run's
  about const what_;
  address_bucket& bucket_;
  // under the bucket's lock
  place* before_ = nullptr;
  place* next_ = nullptr;
  bool is_in_bucket_ = false;
  bool is_chosen_ = false;
  bool is_called_ = false;  // and to be woken by whoever polls
  // The word on which it parks: under the lock of its bucket in the wait table. Where a word begins: see sync/lock_holders.h.
  alignas(8) bool is_set_ = false;
};

// Somebody may stand there.
void choose_slow(void const* address, about what, how_many count) noexcept;

// A mutex at this address was unlocked. Anywhere.
inline void was_unlocked(void const* address) noexcept {
  rt::store_load_fence();  // pairs with place::enter
  // acquire: pairs with places::enter, who waits has told before that there is a process of such
  if (bucket_of(address, about::mutex).first.load(rt::acquire) != nullptr) [[unlikely]]
    choose_slow(address, about::mutex, how_many::one);
}

// A condition variable at this address was signalled. Whoever waited had the mutex before.
inline void was_signalled(void const* address, how_many count) noexcept {
  if (bucket_of(address, about::condition).first.load(rt::acquire) != nullptr)  // as above [[unlikely]]
    choose_slow(address, about::condition, count);
}

// --- unlocked unseen: (d) ---

// While glibc has the mutex in its hands. Its owner calls.
class [[nodiscard]] unlocked_unseen {
 public:
  explicit unlocked_unseen(pthread_mutex_t const& mutex) noexcept;
  ~unlocked_unseen();
  unlocked_unseen(unlocked_unseen const&) = delete;
  unlocked_unseen& operator=(unlocked_unseen const&) = delete;

 private:
  rt::atomic<std::uint32_t>& note_;
};

// After a try that has failed.
[[nodiscard]] bool may_be_unlocked_unseen(pthread_mutex_t const& mutex) noexcept;

}  // namespace thrum::posix
