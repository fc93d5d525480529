#include "sched/queues.h"

#include "base/check.h"
#include "base/heuristics.h"
#include "core/trace.h"
#include "sched/resting_ms.h"

#include <algorithm>
#include <array>
#include <utility>

namespace thrum::rt {

namespace {

// The randomised mode: puts the older half of p's run queue, and e, into the global queue in random order.
void put_global_in_random_order_locked(push_key key, P& p, std::uint32_t first, std::uint32_t half, entry e) noexcept {
  std::array<entry, run_queue_capacity_max / 2 + 1> batch;
  for (std::uint32_t i = 0; i < half; ++i) batch[i] = p.queue.at(first + i);
  batch[half] = e;
  shuffle(p.random, batch.data(), half + 1);
  p.sched.global_queue.push_all(key, half + 1, [&](std::uint32_t i) noexcept { return batch[i]; });
}

}  // namespace

bool put_next_or_last(push_key key, P& p, entry e) noexcept {
  bool const goes_next = (p.random.next() >> 63U) == 0;
  entry const to_tail = goes_next ? p.queue.swap_next(key, e) : e;
  if (!to_tail) return false;
  put_tail(key, p, to_tail);
  store_load_fence();  // e may have been published by put only, which is a release
  return true;
}

// The run queue is full. Dropping its stale entries makes room. If there are none, its older half moves to the global
// queue with e behind it.
void put_tail_slow(push_key key, P& p, entry e) noexcept {
  Sched& s = p.sched;
  do {
    if (p.queue.drop_stale([&](G& joined) { drop_reference(p, joined); })) continue;
    std::uint32_t first = 0;
    if (!p.queue.claim_older_half(first)) continue;
    count(p.counters.overflows);
    os::lock_guard const guard(s.lock);
    std::uint32_t const half = p.queue.capacity() / 2;
    if (s.options.randomize) {
      put_global_in_random_order_locked(key, p, first, half, e);
    } else {
      s.global_queue.push_all(key, half + 1,
                              [&](std::uint32_t i) noexcept { return i < half ? p.queue.at(first + i) : e; });
    }
    trace::global_queue_changed(s);
    return;
  } while (p.queue.put(key, e) == run_queue::put_result::full);
}

void put_global_locked(push_key key, Sched& s, entry e) noexcept {
  s.lock.assert_held();
  s.global_queue.push(key, e);
  trace::global_queue_changed(s);
}

void put_global_first_locked(push_key key, Sched& s, entry e) noexcept {
  s.lock.assert_held();
  s.global_queue.push_front(key, e);
  trace::global_queue_changed(s);
}

std::uint32_t global_share(std::uint32_t length, std::uint32_t procs, std::uint32_t capacity) noexcept {
  return std::min({length, length / procs + 1, capacity / 2});
}

namespace {

// Takes the first plain entry that may have its turn, if it is among the first plain_looked_at_max. The entries before
// it that may not go to the end.
entry pop_plain(Sched& s, plain_turn whose) noexcept {
  return s.global_queue.pop_plain_if(plain_looked_at_max,
                                     [&](entry e) noexcept { return whose == plain_turn::all || !is_unstarted(e); });
}

// m, which has left the queue, is about to be woken. So it rests no more, and does not count as paused.
M* resumed(M* m) noexcept {
  if (m == nullptr || m->is_to_end()) return m;  // give_p does not give the P to an M that is to end
  if (m->rests()) {
    [[maybe_unused]] bool const is_to_be_woken = take_from_rest_locked(*m);
    THRUM_DCHECK(is_to_be_woken);  // by give_p. An M that was roused is not, but it is not in the queue either
  }
  m->sched.ms.resume(*m);
  return m;
}

// Takes entries in the order in which they came. But if many goroutines are paused, those go first, until sys/preempt.h
// says otherwise (T05).
global_turn pop_global(Sched& s) noexcept {
  if (!s.pauses.are_many()) {
    if (s.global_queue.next_is_m()) return {{}, resumed(s.global_queue.pop_m())};
    return {s.global_queue.pop_plain()};
  }
  if (plain_turn const whose = s.pauses.take_plain_turn(); whose != plain_turn::none) {
    if (entry const plain = pop_plain(s, whose)) return {plain};
  }
  M* const oldest = resumed(s.global_queue.pop_m());
  return oldest != nullptr ? global_turn{{}, oldest} : global_turn{s.global_queue.pop_plain()};
}

}  // namespace

M* take_oldest_locked(Sched& s) noexcept {
  s.lock.assert_held();
  M* const oldest = resumed(s.global_queue.pop_m());
  if (oldest != nullptr) trace::global_queue_changed(s);
  return oldest;
}

global_turn take_global_one_locked(Sched& s, P& p) noexcept {
  s.lock.assert_held();
  global_turn const first = pop_global(s);
  if (first) {
    count(p.counters.global_takes);
    trace::global_queue_changed(s);
  }
  return first;
}

global_turn take_global_batch_locked(push_key key, Sched& s, P& p) noexcept {
  std::uint32_t share = 1;  // if many are paused, the others get one turn at a time
  if (!s.pauses.are_many()) {
    share = global_share(s.global_queue.size(), static_cast<std::uint32_t>(s.procs.size()), p.queue.capacity());
  }
  global_turn const first = take_global_one_locked(s, p);
  if (first.wants_p != nullptr) return first;
  s.global_queue.pop_plain_batch(std::max(share, 1U) - 1, [&](entry more) noexcept {
    // The run queue is empty, and the share is at most half of it.
    THRUM_CHECK(p.queue.put(key, more) == run_queue::put_result::done);
    count(p.counters.global_takes);
  });
  trace::global_queue_changed(s);
  return first;
}

bool work_anywhere(Sched& s) noexcept {
  if (s.global_size.load(seq_cst) != 0) return true;
  for (auto const& p : s.procs) {
    if (!p->queue.looks_empty()) return true;
  }
  return false;
}

}  // namespace thrum::rt
