#include "sync/wait.h"

#include <new>
#include <stdexcept>
#include <string>

namespace thrum::rt {
namespace {

void release_bucket(M&, G&, void* bucket) noexcept { static_cast<wait_bucket*>(bucket)->release(); }

}  // namespace

void throw_not_a_goroutine(char const* what) {
  throw std::logic_error(std::string("thrum: ") + what + " would have to wait, and only a goroutine can");
}

sudog& prepare_to_wait(M& m) {
  sudog* const waiter = take_sudog(*m.p);
  if (waiter == nullptr) {
    leave(m);
    throw std::bad_alloc();
  }
  waiter->g = m.current;
  return *waiter;
}

M& wait_in(M& m, wait_bucket& bucket, sudog& waiter, void const* address, wait_reason reason,
           queue_end where) noexcept {
  bucket.enqueue(waiter, address, where);
  return park(m, reason, release_bucket, &bucket, commit_holds::lock);
}

void release_all(M& m, wait_bucket& bucket, void const* address) noexcept {
  g_list released;
  bool more = true;
  while (more) {
    sudog* const next = bucket.dequeue(address, more);
    if (next == nullptr) break;
    released.push_back(*next->g);
  }
  bucket.release();
  ready_all(m, released);
}

}  // namespace thrum::rt
