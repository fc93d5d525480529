#include "posix_locks/owners.h"

#include "core/current.h"
#include "core/immortal_store.h"
#include "posix_locks/kinds.h"
#include "sched/home.h"

#include <new>
#include <utility>

namespace thrum::posix {

using namespace rt;

namespace {

// The memory does not come from malloc, because malloc may use such a mutex itself.
constinit immortal_store<owned_mutex> records{};

owned_mutex* take_record() noexcept {
  os::lock_guard const guard(records.lock);
  if (owned_mutex* const one = records.free) {
    records.free = one->next;
    return one;
  }
  return records.all.make();
}

void put_record(owned_mutex& one) noexcept {
  os::lock_guard const guard(records.lock);
  one.next = std::exchange(records.free, &one);
}

// The pointer to the record of the mutex, or the null pointer at the end of the list.
owned_mutex** find(address_bucket& bucket, pthread_mutex_t const& mutex) noexcept {
  owned_mutex** at = &bucket.owned;
  while (*at != nullptr && (*at)->address != &mutex) at = &(*at)->next;
  return at;
}

void drop(owned_mutex** at) noexcept {
  owned_mutex& one = **at;
  *at = one.next;
  put_record(one);
}

}  // namespace

ownership look_at_owner(address_bucket& bucket, pthread_mutex_t const& mutex) noexcept {
  owned_mutex** const at = find(bucket, mutex);
  if (*at == nullptr) return ownership::free_or_threads;
  M& m = *current_m();
  bool const is_of_this_run = (*at)->epoch == m.sched.epoch;
  bool const is_mine = is_of_this_run && (*at)->goroutine == m.current->id;
  if (is_of_this_run && (*at)->thread == owner_of(mutex)) return is_mine ? ownership::mine : ownership::anothers;
  drop(at);
  if (is_mine) leave_home(m);  // the mutex was unlocked without this library
  return ownership::free_or_threads;
}

bool note_owner(address_bucket& bucket, pthread_mutex_t const& mutex) noexcept {
  owned_mutex* const one = take_record();
  if (one == nullptr) return false;
  M const& m = *current_m();
  *one = {bucket.owned, &mutex, m.current->id, m.tid, m.sched.epoch};
  bucket.owned = one;
  return true;
}

void forget_owner(address_bucket& bucket, pthread_mutex_t const& mutex) noexcept {
  owned_mutex** const at = find(bucket, mutex);
  if (*at != nullptr) drop(at);
}

void forget_owners_in_child() noexcept {
  records.all.abandon();
  new (&records) immortal_store<owned_mutex>();
}

}  // namespace thrum::posix
