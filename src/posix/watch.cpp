#include "posix/watch.h"

#include "core/poll_table.h"
#include "core/sched.h"
#include "os/chaos.h"
#include "os/descriptor_watch.h"
#include "os/lock.h"
#include "posix/signals_blocked.h"
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

using namespace rt;

// The part of `waiter` that the bucket table uses.
class waiters {
 public:
  static std::uint32_t epoch(watch const& one) noexcept { return one.whose->epoch_; }
  static bool is_in_turn(watch const& one) noexcept { return one.whose->how_ == standing::in_turn; }

  static void clear_word(waiter& its) noexcept {
    wait_bucket& bucket = its.run_.waiters.bucket_of(&its.is_set_);
    bucket.acquire();
    its.is_set_ = false;
    bucket.release();
  }
  // Called under the lock of the bucket in which `one` stands.
  static void set_word(watch& one, g_list& runnable) noexcept {
    waiter& its = *one.whose;
    wait_bucket& bucket = its.run_.waiters.bucket_of(&its.is_set_);
    bucket.acquire();
    its.is_set_ = true;
    g_list taken = take_all(bucket, &its.is_set_);
    bucket.release();
    while (G* const g = taken.pop_front()) runnable.push_back(*g);
  }
};

namespace {

struct alignas(cache_line_bytes) fd_bucket {
  os::lock lock{lock_rank::descriptor};
  // Under the lock. Whether `first` is null is also read without the lock.
  atomic<watch*> first{nullptr};
  watch* last = nullptr;
  ticket newest = 0;

  void enter(watch& one, waiter& whose) noexcept {
    one.whose = &whose;
    one.its_ticket = ++newest;
    one.is_in_bucket = true;
    one.before = std::exchange(last, &one);
    if (one.before == nullptr) {
      first.store(&one, relaxed);  // relaxed: outside the lock it is only a hint; enter_if_new has the barrier
    } else {
      one.before->next = &one;
    }
  }

  void leave(watch& one) noexcept {
    if (!std::exchange(one.is_in_bucket, false)) return;
    if (one.asked != 0) {
      if (watch* const heir = find(one.next, one.fd, waiters::epoch(one))) heir->asked |= one.asked;
    }
    if (one.before == nullptr) {
      first.store(one.next, relaxed);
    } else {
      one.before->next = one.next;
    }
    (one.next == nullptr ? last : one.next->before) = one.before;
  }

  // The first watch of this run from `one` on that waits for fd.
  static watch* find(watch* one, int fd, std::uint32_t epoch) noexcept {
    while (one != nullptr && !(one->fd == fd && waiters::epoch(*one) == epoch && !one->was_closed.load(relaxed))) {
      one = one->next;
    }
    return one;
  }
  watch* find(int fd, std::uint32_t epoch) const noexcept { return find(first.load(relaxed), fd, epoch); }
  watch* find_in_turn(int fd, std::uint32_t epoch) const noexcept {
    watch* one = find(fd, epoch);
    while (one != nullptr && !waiters::is_in_turn(*one)) one = find(one->next, fd, epoch);
    return one;
  }

  // Visits all watches of this run. Drops those of other runs.
  template <class F>
  void for_each(std::uint32_t epoch, F visit) noexcept {
    for (watch* each = first.load(relaxed); each != nullptr;) {
      watch& one = *std::exchange(each, each->next);
      if (waiters::epoch(one) != epoch) {
        leave(one);
      } else {
        visit(one);
      }
    }
  }
};

constexpr std::size_t bucket_count = 1024;
constinit std::array<fd_bucket, bucket_count> buckets{};

std::size_t index_of(int fd) noexcept { return static_cast<unsigned>(fd) % bucket_count; }
fd_bucket& bucket_of(int fd) noexcept { return buckets[index_of(fd)]; }

// One bit for each bucket. It is set if close has called a watch there (watch::is_called).
constexpr std::size_t bits = 64;
constinit std::array<atomic<std::uint64_t>, bucket_count / bits> calls{};

// Arms the number for these events. Returns 0 or the errno. Called under the bucket's lock. If the kernel does not know
// the number as before, the watches that it knew are marked as closed.
int tell_kernel(fd_bucket& bucket, int fd, std::uint32_t events, std::uint32_t epoch, g_list& runnable) noexcept {
  auto const [error, is_new] = os::watch_descriptor(fd, events);
  bool const is_another =
      is_new || error == EBADF || error == EPERM;  // another file, or closed, or a regular file, which epoll refuses
  if (is_another) {
    bucket.for_each(epoch, [&](watch& one) {
      if (one.fd != fd || !one.is_known || one.was_closed.load(relaxed)) return;
      one.was_closed.store(true, relaxed);
      waiters::set_word(one, runnable);
    });
  }
  return error;
}

// --- the M that fetches events ---

void take_event(os::watch_event const& event, std::uint32_t epoch, g_list& runnable) noexcept {
  constexpr std::uint32_t always = POLLERR | POLLHUP;
  fd_bucket& bucket = bucket_of(event.fd);
  os::lock_guard const guard(bucket.lock);
  std::uint32_t left = 0;
  bool are_left = false;
  auto const for_each_armed = [&](auto visit) {
    bucket.for_each(epoch, [&](watch& one) {
      if (one.fd == event.fd && one.is_armed && !one.was_closed.load(relaxed)) visit(one);
    });
  };
  for_each_armed([&](watch& one) {
    if ((event.what & (one.events | always)) != 0) {
      one.is_armed = false;
      waiters::set_word(one, runnable);
    } else {
      left |= one.events;
      are_left = true;
    }
  });
  if (watch* const first = bucket.find(event.fd, epoch)) first->asked = left;
  // If the number cannot be armed, the watches that are left are woken, and their calls find the error themselves.
  if (!are_left || tell_kernel(bucket, event.fd, left, epoch, runnable) == 0) return;
  for_each_armed([&](watch& one) { waiters::set_word(one, runnable); });
}

void wake_called(std::uint32_t epoch, g_list& runnable) noexcept {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::uint64_t noted = calls[i].exchange(0, acquire);  // pairs with call_those
    for (; noted != 0; noted &= noted - 1) {
      fd_bucket& bucket = buckets[i * bits + static_cast<std::size_t>(__builtin_ctzll(noted))];
      os::lock_guard const guard(bucket.lock);
      bucket.for_each(epoch, [&](watch& one) {
        if (std::exchange(one.is_called, false)) waiters::set_word(one, runnable);
      });
    }
  }
}

constinit atomic<when_rung> also_at_bell{nullptr};

void take_all_events(std::uint32_t epoch, g_list& runnable) noexcept {
  os::watch_event events[os::watch_events_max];
  for (int count = os::watch_events_max; count == os::watch_events_max;) {
    count = os::take_watch_events(events);
    for (int i = 0; i < count; ++i) {
      if (events[i].fd == os::watch_bell) {
        wake_called(epoch, runnable);
        if (when_rung const others = also_at_bell.load(acquire)) others(epoch, runnable);  // pairs with at_bell
      } else {
        take_event(events[i], epoch, runnable);
      }
    }
  }
}

// --- the waiting call ---

// The id of the process in which a call has waited, or 0.
constinit atomic<int> process{0};

// Runs in the child of a fork. Forgets the parent's waiting calls, and the locks that its other threads held.
void forget_in_child() noexcept {
  if (process.exchange(0, relaxed) == 0) return;  // relaxed: the child has only one thread
  for (fd_bucket& bucket : buckets) new (&bucket) fd_bucket();
  for (auto& each : calls) each.store(0, relaxed);
}

[[maybe_unused]] bool const children_forget = ::pthread_atfork(nullptr, nullptr, forget_in_child) == 0;

// Creates the inner poll if it does not exist. Returns false if that fails. Called inside the runtime.
bool is_open() noexcept {
  if (process.load(acquire) != 0) return true;  // pairs with the release below
  set_inner_poll(take_all_events);              // before the first event can come
  if (os::open_watch(inner_poll_data) != 0) return false;
  process.store(::getpid(), release);
  return true;
}

enum class arming : std::uint8_t { done, is_ready, impossible };

// Arms `one`. Called under the bucket's lock.
arming arm(fd_bucket& bucket, watch& one, std::uint32_t epoch, unwatched what_then, g_list& runnable) noexcept {
  std::uint32_t const asked = bucket.find(one.fd, epoch)->asked | one.events;
  int const error = tell_kernel(bucket, one.fd, asked, epoch, runnable);
  if (one.was_closed.load(relaxed)) return arming::is_ready;  // the caller looks at the mark
  bucket.find(one.fd, epoch)->asked |= asked;                 // tell_kernel may have changed which watch is the first
  one.is_armed = error == 0;
  one.is_known = one.is_known || error == 0;
  switch (error) {
    case 0: return arming::done;
    case EBADF: return arming::is_ready;  // the next try fails with EBADF
    case EPERM: return what_then == unwatched::is_left_out ? arming::done : arming::impossible;
    default: return arming::impossible;
  }
}

// As arm, for a watch whose turn it is not, so that it gets no events. Finds out whether the number stands for the same
// file.
arming ask_kernel(fd_bucket& bucket, watch& one, std::uint32_t epoch, g_list& runnable) noexcept {
  int const error = tell_kernel(bucket, one.fd, bucket.find(one.fd, epoch)->asked, epoch, runnable);
  if (error == EBADF) one.was_closed.store(true, relaxed);
  if (one.was_closed.load(relaxed)) return arming::is_ready;
  one.is_known = one.is_known || error == 0;
  return error == 0 ? arming::done : arming::impossible;
}

}  // namespace

std::int64_t now_ns() noexcept { return timer_clock_ns(); }

waiter::waiter(watch* all, std::size_t count, unwatched what_then, standing how) noexcept
    : run_(current_m()->sched), epoch_(run_.epoch), all_(all), count_(count), what_then_(what_then), how_(how) {}

waiter::~waiter() {
  if (!has_entered_) return;
  M& m = *current_m();
  enter(m);
  g_list runnable;
  for (std::size_t i = 0; i < count_; ++i) {
    watch& one = all_[i];
    if (one.whose == nullptr) continue;
    fd_bucket& bucket = bucket_of(one.fd);
    os::lock_guard const guard(bucket.lock);
    bool const had_turn = how_ == standing::in_turn && bucket.find_in_turn(one.fd, epoch_) == &one;
    bucket.leave(one);
    if (watch* const next = had_turn ? bucket.find_in_turn(one.fd, epoch_) : nullptr)
      waiters::set_word(*next, runnable);
  }
  ready_all(m, runnable);
  leave(m);
}

// Called under the bucket's lock.
void waiter::enter_if_new(watch& one) noexcept {
  if (one.whose != nullptr) return;
  bucket_of(one.fd).enter(one, *this);
  has_entered_ = true;
  store_load_fence();  // pairs with say_closed
}

// Called inside the runtime (with the mark set); outside it on return. Returns true if the call was woken before the
// deadline. Throws as wait_if does.
bool waiter::park_until_set(std::int64_t deadline_ns) {
  struct counted {
    explicit counted(Sched& of) noexcept : s(of) { s.poll_waiters.fetch_add(1, seq_cst); }
    ~counted() { s.poll_waiters.fetch_sub(1, seq_cst); }
    Sched& s;
  } const counts(run_);
  return wait_if(
      *current_m(), &is_set_, wait_reason::io, deadline_ns == without_limit ? no_deadline : deadline_ns,
      [&] { return !is_set_; }, [] {});
}

bool waiter::any_was_closed() const noexcept {
  bool closed = false;
  for (std::size_t i = 0; i < count_; ++i) closed = closed || all_[i].was_closed.load(relaxed);
  return closed;
}

void waiter::look_whether_it_is_gone(watch& one) noexcept {
  M& m = *current_m();
  enter(m);
  g_list runnable;
  {
    fd_bucket& bucket = bucket_of(one.fd);
    os::lock_guard const guard(bucket.lock);
    if (one.is_known && !one.was_closed.load(relaxed)) static_cast<void>(ask_kernel(bucket, one, epoch_, runnable));
  }
  ready_all(m, runnable);
  leave(m);
}

woken waiter::wait(std::int64_t deadline_ns) noexcept {
  M& m = *current_m();
  enter(m);
  waiters::clear_word(*this);
  g_list runnable;
  auto armed = is_open() ? arming::done : arming::impossible;
  for (std::size_t i = 0; i < count_ && armed == arming::done; ++i) {
    watch& one = all_[i];
    if (one.fd < 0) continue;
    fd_bucket& bucket = bucket_of(one.fd);
    os::lock_guard const guard(bucket.lock);
    enter_if_new(one);
    auto const is_its_turn = [&] { return how_ == standing::together || bucket.find_in_turn(one.fd, epoch_) == &one; };
    if (one.was_closed.load(relaxed)) {
      armed = arming::is_ready;
    } else if (!is_its_turn()) {
      armed = ask_kernel(bucket, one, epoch_, runnable);
    }
    if (armed == arming::done && is_its_turn()) armed = arm(bucket, one, epoch_, what_then_, runnable);
  }
  ready_all(m, runnable);
  auto how = woken::by_event;
  if (armed == arming::done) {
    os::chaos_point("posix.watches");
    try {
      if (!park_until_set(deadline_ns)) how = woken::by_time;
    } catch (...) {
      how = woken::impossible;
    }
  } else {
    leave(m);
    if (armed == arming::impossible) how = woken::impossible;
  }
  // The last try must be made on the file for which the call has waited. poll, select and epoll_wait only look, so they
  // do not ask.
  if (how == woken::by_time && what_then_ == unwatched::makes_it_impossible) look_whether_it_is_gone(*all_);
  return any_was_closed() ? woken::by_close : how;
}

bool waiter::has_turn() noexcept {
  runtime_mark const mark;
  if (!is_open()) return false;
  watch& one = *all_;
  fd_bucket& bucket = bucket_of(one.fd);
  os::lock_guard const guard(bucket.lock);
  enter_if_new(one);
  return bucket.find_in_turn(one.fd, epoch_) == &one;
}

bool waiter::is_alone() noexcept {
  runtime_mark const mark;
  watch& one = *all_;
  fd_bucket& bucket = bucket_of(one.fd);
  os::lock_guard const guard(bucket.lock);
  watch const* other = bucket.find(one.fd, epoch_);
  if (other == &one) other = fd_bucket::find(one.next, one.fd, epoch_);
  return other == nullptr;
}

// --- the bell ---

bool has_bell() noexcept { return is_open(); }
void at_bell(when_rung f) noexcept { also_at_bell.store(f, release); }  // pairs with take_all_events
bool is_process_of_waiters() noexcept { return process.load(relaxed) == ::getpid(); }
bool holds_no_bucket() noexcept {
  M const* const m = current_m();
  return m == nullptr || (m->current != nullptr && !m->in_runtime.load(relaxed));
}

// --- the thread that closes ---

namespace {

bool may_take_locks() noexcept { return is_process_of_waiters() && holds_no_bucket(); }

bool call_those(fd_bucket& bucket, int first, int last, ticket last_ticket) noexcept {
  os::lock_guard const guard(bucket.lock);
  bool found = false;
  for (watch* one = bucket.first.load(relaxed); one != nullptr; one = one->next) {
    if (one->fd < first || one->fd > last || one->was_closed.load(relaxed)) continue;
    if (one->its_ticket <= last_ticket) one->was_closed.store(true, relaxed);
    one->is_known = false;  // a call that is not marked waits for the file that has the number at its next try
    one->is_called = true;
    found = true;
  }
  if (!found) return false;
  auto const index = static_cast<std::size_t>(&bucket - buckets.data());
  calls[index / bits].fetch_or(std::uint64_t{1} << index % bits, release);  // pairs with wake_called
  return true;
}

}  // namespace

void say_closed(int first, int last, ticket last_ticket) noexcept {
  if (first < 0 || first > last) return;
  store_load_fence();  // pairs with enter_if_new: a call that enters looks at the number afterwards
  auto const numbers = static_cast<std::size_t>(last) - static_cast<std::size_t>(first) + 1;
  bool is_called = false;
  for (std::size_t i = 0; i < bucket_count && i < numbers; ++i) {
    fd_bucket& bucket = buckets[(index_of(first) + i) % bucket_count];
    if (bucket.first.load(acquire) == nullptr) continue;
    if (!may_take_locks()) return;
    signals_blocked const quiet;
    is_called = call_those(bucket, first, last, last_ticket) || is_called;
  }
  if (is_called) os::ring_watch_bell();
}

ticket newest_at(int fd) noexcept {
  fd_bucket& bucket = bucket_of(fd);
  if (fd < 0 || bucket.first.load(acquire) == nullptr || !may_take_locks()) return nobody;
  signals_blocked const quiet;
  os::lock_guard const guard(bucket.lock);
  return bucket.newest;
}

}  // namespace thrum::posix
