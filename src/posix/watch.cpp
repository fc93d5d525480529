#include "posix/watch.h"

#include "core/poll_table.h"
#include "core/sched.h"
#include "os/chaos.h"
#include "os/descriptor_watch.h"
#include "os/lock.h"
#include "sched/timers.h"
#include "sync/wait.h"

#include <array>
#include <new>
#include <utility>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

namespace thrum::posix {

struct waiter {
  rt::Sched& run;
  std::uint32_t const epoch;  // the run's
  bool is_set = false;        // the word: under the lock of its bucket in the wait table
};

namespace {

using namespace rt;

struct alignas(cache_line_bytes) fd_bucket {
  os::lock lock{lock_rank::descriptor};
  // under the lock; whether there is one, also read without
  atomic<watch*> first{nullptr};

  void enter(watch& one) noexcept {
    one.next = first.load(relaxed);
    one.is_in_bucket = true;
    first.store(&one, relaxed);  // a hint outside of the lock
  }

  void leave(watch& one) noexcept {
    if (!std::exchange(one.is_in_bucket, false)) return;
    watch* before = nullptr;
    for (watch* each = first.load(relaxed); each != &one; each = each->next) before = each;
    if (before == nullptr) {
      first.store(one.next, relaxed);
    } else {
      before->next = one.next;
    }
  }

  // Those of this run who wait for fd, others are dropped.
  template <class F>
  void for_each(int fd, std::uint32_t epoch, F visit) noexcept {
    for (watch* each = first.load(relaxed); each != nullptr;) {
      watch& one = *std::exchange(each, each->next);
      if (one.whose->epoch != epoch) {
        leave(one);
      } else if (one.fd == fd) {
        visit(one);
      }
    }
  }
};

constexpr std::size_t bucket_count = 1024;
constinit std::array<fd_bucket, bucket_count> buckets{};

fd_bucket& bucket_of(int fd) noexcept { return buckets[static_cast<unsigned>(fd) % bucket_count]; }

// Under the lock of a bucket in which it stands.
void set_word(waiter& its, g_list& runnable) noexcept {
  wait_bucket& bucket = its.run.waiters.bucket_of(&its.is_set);
  bucket.acquire();
  its.is_set = true;
  g_list taken = take_all(bucket, &its.is_set);
  bucket.release();
  while (G* const g = taken.pop_front()) runnable.push_back(*g);
}

void take_event(os::watch_event const& event, std::uint32_t epoch, g_list& runnable) noexcept {
  constexpr std::uint32_t always = POLLERR | POLLHUP;
  fd_bucket& bucket = bucket_of(event.fd);
  os::lock_guard const guard(bucket.lock);
  std::uint32_t left = 0;
  bool are_left = false;
  bucket.for_each(event.fd, epoch, [&](watch& one) {
    if ((event.what & (one.events | always)) != 0) {
      set_word(*one.whose, runnable);
    } else {
      left |= one.events;
      are_left = true;
    }
  });
  // Whatever goes wrong here they will find out themselves.
  if (!are_left || os::watch_descriptor(event.fd, left) == 0) return;
  bucket.for_each(event.fd, epoch, [&](watch& one) { set_word(*one.whose, runnable); });
}

void take_all_events(std::uint32_t epoch, g_list& runnable) noexcept {
  os::watch_event events[os::watch_events_max];
  for (int count = os::watch_events_max; count == os::watch_events_max;) {
    count = os::take_watch_events(events);
    for (int i = 0; i < count; ++i) take_event(events[i], epoch, runnable);
  }
}

// 0 or the errno.
int enter_bucket(watch& one, waiter& who) noexcept {
  fd_bucket& bucket = bucket_of(one.fd);
  os::lock_guard const guard(bucket.lock);
  one.whose = &who;
  one.was_closed = false;
  bucket.enter(one);
  std::uint32_t all = 0;
  bucket.for_each(one.fd, who.epoch, [&](watch const& each) { all |= each.events; });
  return os::watch_descriptor(one.fd, all);
}

void leave_buckets(watch* all, std::size_t count) noexcept {
  runtime_mark const mark;
  for (std::size_t i = 0; i < count; ++i) {
    if (all[i].fd < 0 || all[i].whose == nullptr) continue;
    fd_bucket& bucket = bucket_of(all[i].fd);
    os::lock_guard const guard(bucket.lock);
    bucket.leave(all[i]);
  }
}

// The process in which somebody has waited; 0: nobody has.
constinit atomic<int> process{0};

// The parent's goroutines, and whatever locks its other threads had.
void forget_in_child() noexcept {
  if (process.exchange(0, relaxed) == 0) return;  // relaxed: there is but one thread
  for (fd_bucket& bucket : buckets) new (&bucket) fd_bucket();
}

[[maybe_unused]] bool const is_prepared = ::pthread_atfork(nullptr, nullptr, forget_in_child) == 0;

enum class entering : std::uint8_t { done, some_are_ready, impossible };

entering enter_buckets(watch* all, std::size_t count, waiter& who) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (all[i].fd < 0) continue;
    switch (enter_bucket(all[i], who)) {
      case 0: break;
      case EPERM:  // a file, which is always ready
      case EBADF: return entering::some_are_ready;
      default: return entering::impossible;
    }
  }
  return entering::done;
}

// With the mark set; clear on return. Whether it was woken before its time; throws as wait_if.
bool park_until_set(M& m, waiter& who, std::int64_t deadline_ns) {
  Sched& s = m.sched;
  struct counted {
    explicit counted(Sched& of) noexcept : s(of) { s.poll_waiters.fetch_add(1, seq_cst); }
    ~counted() { s.poll_waiters.fetch_sub(1, seq_cst); }
    Sched& s;
  } const counts(s);
  return wait_if(
      m, &who.is_set, wait_reason::io, deadline_ns, [&] { return !who.is_set; }, [] {});
}

bool any_was_closed(watch const* all, std::size_t count) noexcept {
  bool closed = false;
  for (std::size_t i = 0; i < count; ++i) closed = closed || all[i].was_closed;
  return closed;
}

}  // namespace

std::int64_t now_ns() noexcept { return timer_clock_ns(); }

woken wait_for(watch* all, std::size_t count, std::int64_t deadline_ns) noexcept {
  M& m = *current_m();
  enter(m);
  if (process.load(acquire) == 0) {
    set_inner_poll(take_all_events);  // before there can be events; also in a run that a constructor makes
    process.store(::getpid(),
                  release);  // pairs with the acquire above: whoever opens the watch knows that this is done
  }
  if (os::open_watch(inner_poll_data) != 0) {  // it has a lock, so this is inside the runtime
    leave(m);
    return woken::impossible;
  }
  waiter who{m.sched, m.sched.epoch};
  auto how = woken::by_event;
  switch (enter_buckets(all, count, who)) {
    case entering::done:
      os::chaos_point("posix.watches");
      try {
        if (!park_until_set(m, who, deadline_ns == without_limit ? no_deadline : deadline_ns)) how = woken::by_time;
      } catch (...) {
        how = woken::impossible;
      }
      break;
    case entering::some_are_ready: leave(m); break;
    case entering::impossible:
      leave(m);
      how = woken::impossible;
      break;
  }
  leave_buckets(all, count);
  return any_was_closed(all, count) ? woken::by_close : how;
}

namespace {

void wake_closed_in(fd_bucket& bucket, int first, int last, std::uint32_t epoch, g_list& runnable) noexcept {
  os::lock_guard const guard(bucket.lock);
  for (watch* each = bucket.first.load(relaxed); each != nullptr;) {
    watch& one = *std::exchange(each, each->next);
    if (one.whose->epoch != epoch) {
      bucket.leave(one);
    } else if (one.fd >= first && one.fd <= last) {
      one.was_closed = true;
      set_word(*one.whose, runnable);
    }
  }
}

}  // namespace

void wake_for_close(int first, int last) noexcept {
  bool somebody_waits = false;
  bool const is_one = first == last;
  for (std::size_t i = 0; i < bucket_count && !somebody_waits; ++i) {
    somebody_waits = (is_one ? bucket_of(first) : buckets[i]).first.load(acquire) != nullptr;
    if (is_one) break;
  }
  if (first < 0 || !somebody_waits) return;
  M* const seen = current_m();
  if (seen != nullptr && (seen->current == nullptr || seen->in_runtime.load(relaxed))) return;
  if (process.load(relaxed) != ::getpid()) return;  // a child of vfork, which closes its own copies
  M* const m = callers_m();
  if (m == nullptr) return;  // then nobody waits who could go on
  enter(*m);
  g_list runnable;
  if (is_one) {
    wake_closed_in(bucket_of(first), first, last, m->sched.epoch, runnable);
  } else {
    for (fd_bucket& bucket : buckets) wake_closed_in(bucket, first, last, m->sched.epoch, runnable);
  }
  ready_all(*m, runnable);
  leave(*m);
}

}  // namespace thrum::posix
