#include "sched/queues.h"

#include <algorithm>

#include "base/check.h"
#include "sched/records.h"
#include "sched/wake.h"

namespace thrum::rt {
namespace {

// A ring that is full: room is made by dropping the dead, or half of it moves to the global queue.
[[gnu::noinline]] void put_tail_slow(P& p, entry e) noexcept {
  Sched& s = p.sched;
  do {
    entry_list stale;
    bool const room = p.queue.drop_stale(stale);
    while (entry const gone = stale.pop_front()) drop_reference(p, *gone.g());
    if (room) continue;
    entry_list batch;
    if (!p.queue.overflow(e, batch)) continue;
    count(p.counters.overflows);
    os::lock_guard const guard(s.lock);
    put_global_locked(s, batch);
    return;
  } while (p.queue.put(e) == run_queue::put_result::full);
}

}  // namespace

void put_tail(P& p, entry e) noexcept {
  if (p.queue.put(e) == run_queue::put_result::full) put_tail_slow(p, e);
}

void put_next(P& p, entry e) noexcept {
  if (entry const kicked_out = p.queue.swap_next(e)) put_tail(p, kicked_out);
}

void put_global_locked(Sched& s, entry_list& batch) noexcept {
  s.lock.assert_held();
  s.global_queue.append(batch);
  s.global_size.store(s.global_queue.size(), seq_cst);  // a publication: see wake.h
}

std::uint32_t global_share(std::uint32_t length, std::uint32_t procs, std::uint32_t capacity) noexcept {
  return std::min({length, length / procs + 1, capacity / 2});
}

entry take_global_one_locked(Sched& s, P& p) noexcept {
  s.lock.assert_held();
  entry const first = s.global_queue.pop_front();
  if (first) {
    s.global_size.store(s.global_queue.size(), relaxed);  // smaller: nobody waits for that
    count(p.counters.global_takes);
  }
  return first;
}

entry take_global_batch_locked(Sched& s, P& p) noexcept {
  std::uint32_t share = global_share(s.global_queue.size(), static_cast<std::uint32_t>(s.options.procs),
                                     p.queue.capacity());
  entry const first = take_global_one_locked(s, p);
  for (; share > 1; --share) {
    // The ring is empty and the share is at most half of it.
    auto const result = p.queue.put(take_global_one_locked(s, p));
    THRUM_CHECK(result == run_queue::put_result::done);
  }
  return first;
}

void inject(Sched& s, M* m, entry_list& runnable) noexcept {
  std::uint32_t wanted = 0;
  {
    os::lock_guard const guard(s.lock);
    auto const idle = static_cast<std::uint32_t>(s.idle_procs.load(relaxed));  // exact: under the lock
    entry_list for_others;
    while (!runnable.empty() && (m == nullptr || m->p == nullptr || for_others.size() < idle)) {
      for_others.push_back(runnable.pop_front());
    }
    wanted = std::min(idle, for_others.size());
    put_global_locked(s, for_others);
  }
  for (; wanted > 0; --wanted) start_idle_p(s);
  if (runnable.empty()) return;
  while (entry const e = runnable.pop_front()) put_tail(*m->p, e);
  store_load_fence();
  wake_if_idle(s);
}

G* take_over(P& p, entry e) noexcept {
  G* const g = e.g();
  if (!e.is_claimable() || claim(*g)) return g;
  drop_reference(p, *g);
  return nullptr;
}

}  // namespace thrum::rt
