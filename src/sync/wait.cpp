#include "sync/wait.h"

#include "base/check.h"

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

g_list take_all(wait_bucket& bucket, void const* address) noexcept {
  g_list taken;
  for (bool more = bucket.has_waiters(address); more;) taken.push_back(*bucket.dequeue(address, more)->g);
  return taken;
}

void release_all(M& m, wait_bucket& bucket, void const* address) noexcept {
  g_list released = take_all(bucket, address);
  bucket.release();
  ready_all(m, released);
}

M& enter_to_wake(char const* what, std::uint32_t epoch) noexcept {
  M* const m = current_m();
  if (m == nullptr || m->sched.epoch != epoch) {
    fatal("%s outside the run whose goroutines wait for it: only a goroutine can wake them", what);
  }
  enter(*m);
  return *m;
}

}  // namespace thrum::rt
