// The thread that closes a descriptor finds the calls that wait for its number (posix/watch.h).
#include "os/descriptor_watch.h"
#include "posix/signals_blocked.h"
#include "posix/watch.h"
#include "posix/watch_buckets.h"

namespace thrum::posix {

namespace {

bool may_take_locks() noexcept { return is_process_of_waiters() && holds_no_bucket(); }

bool note_waiters(fd_bucket& bucket, int first, int last, ticket last_ticket) noexcept {
  os::lock_guard const guard(bucket.lock);
  bool found = false;
  for (watch* one = bucket.first.load(relaxed); one != nullptr; one = one->next) {
    if (one->fd < first || one->fd > last || one->was_closed.load(relaxed)) continue;
    if (one->its_ticket <= last_ticket) one->was_closed.store(true, relaxed);
    one->is_known = false;  // a call that is not marked waits for the file that has the number at its next try
    one->is_to_be_woken = true;
    found = true;
  }
  if (!found) return false;
  buckets_to_wake.add(static_cast<std::size_t>(&bucket - buckets.data()));
  return true;
}

}  // namespace

void say_closed(int first, int last, ticket last_ticket) noexcept {
  if (first < 0 || first > last) return;
  store_load_fence();  // pairs with enter_if_new: a call that enters looks at the number afterwards
  auto const numbers = static_cast<std::size_t>(last) - static_cast<std::size_t>(first) + 1;
  bool any_is_noted = false;
  for (std::size_t i = 0; i < bucket_count && i < numbers; ++i) {
    fd_bucket& bucket = buckets[(index_of(first) + i) % bucket_count];
    if (bucket.first.load(acquire) == nullptr) continue;
    if (!may_take_locks()) return;
    signals_blocked const quiet;
    any_is_noted = note_waiters(bucket, first, last, last_ticket) || any_is_noted;
  }
  if (any_is_noted) os::notify_inner_poll();
}

ticket newest_at(int fd) noexcept {
  fd_bucket& bucket = bucket_of(fd);
  if (fd < 0 || bucket.first.load(acquire) == nullptr || !may_take_locks()) return no_ticket;
  signals_blocked const quiet;
  os::lock_guard const guard(bucket.lock);
  return bucket.newest;
}

}  // namespace thrum::posix
