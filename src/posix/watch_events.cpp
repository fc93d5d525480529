// The inner poll and its notifications: what the thread that fetches events does for the calls that wait
// (posix/watch.h).
#include "core/current.h"
#include "core/poll_table.h"
#include "os/descriptor_watch.h"
#include "posix/watch.h"
#include "posix/watch_buckets.h"

#include <new>

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

namespace thrum::posix {
namespace {

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
      one.owner->set_word(runnable);
    } else {
      left |= one.events;
      are_left = true;
    }
  });
  if (watch* const first = bucket.find(event.fd, epoch)) first->asked = left;
  // If the number cannot be armed, the watches that are left are woken, and their calls find the error themselves.
  if (!are_left || tell_kernel(bucket, event.fd, left, epoch, runnable) == 0) return;
  for_each_armed([&](watch& one) { one.owner->set_word(runnable); });
}

void wake_noted(std::uint32_t epoch, g_list& runnable) noexcept {
  buckets_to_wake.take_each([&](std::size_t index) {
    fd_bucket& bucket = buckets[index];
    os::lock_guard const guard(bucket.lock);
    bucket.for_each(epoch, [&](watch& one) {
      if (std::exchange(one.is_to_be_woken, false)) one.owner->set_word(runnable);
    });
  });
}

constinit atomic<notify_function> other_notify_function{nullptr};

void take_all_events(std::uint32_t epoch, g_list& runnable) noexcept {
  os::watch_event events[os::watch_events_max];
  for (int count = os::watch_events_max; count == os::watch_events_max;) {
    count = os::take_watch_events(events);
    for (int i = 0; i < count; ++i) {
      if (events[i].fd == os::watch_notified) {
        wake_noted(epoch, runnable);
        if (notify_function const others = other_notify_function.load(acquire))
          others(epoch, runnable);  // pairs with on_notify
      } else {
        take_event(events[i], epoch, runnable);
      }
    }
  }
}

// The id of the process in which a call has waited, or 0.
constinit atomic<int> process{0};

// Runs in the child of a fork. Forgets the parent's waiting calls, and the locks that its other threads held.
void forget_in_child() noexcept {
  if (process.exchange(0, relaxed) == 0) return;  // relaxed: the child has only one thread
  for (fd_bucket& bucket : buckets) new (&bucket) fd_bucket();
  buckets_to_wake.clear();
}

[[maybe_unused]] bool const children_forget = ::pthread_atfork(nullptr, nullptr, forget_in_child) == 0;

}  // namespace

bool has_inner_poll() noexcept {
  if (process.load(acquire) != 0) return true;  // pairs with the release below
  set_inner_poll(take_all_events);              // before the first event can come
  if (os::open_watch(inner_poll_data) != 0) return false;
  process.store(::getpid(), release);
  return true;
}

void on_notify(notify_function f) noexcept { other_notify_function.store(f, release); }  // pairs with take_all_events
bool is_process_of_waiters() noexcept { return process.load(relaxed) == ::getpid(); }
bool holds_no_bucket() noexcept {
  M const* const m = current_m();
  return m == nullptr || (m->current != nullptr && !m->in_runtime.load(relaxed));
}

}  // namespace thrum::posix
