#include "sync/wait.h"

#include "sched/queues.h"

#include <new>
#include <stdexcept>
#include <string>

namespace thrum::rt {
namespace {

void release_bucket(M&, G&, void* bucket) noexcept { static_cast<wait_bucket*>(bucket)->release(); }

}  // namespace

M& enter_to_wait(char const* what) {
  M* const m = current_m();
  if (m == nullptr || m->current == nullptr) {
    throw std::logic_error(std::string("thrum: ") + what + " would have to wait, and only a goroutine can");
  }
  enter(*m);
  return *m;
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
  bool more = false;
  sudog* const first = bucket.dequeue(address, more);
  g_list others;
  while (more) {
    G& g = *bucket.dequeue(address, more)->g;
    g.transition(g_status::waiting, g_status::runnable);
    others.push_back(g);
  }
  bucket.release();
  if (first == nullptr) return;
  ready(m, *first->g);
  if (others.empty()) return;
  count(m.p->counters.readies, others.size());
  inject(m.sched, &m, others);
}

}  // namespace thrum::rt
