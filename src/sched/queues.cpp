#include "sched/queues.h"

#include "base/check.h"
#include "sched/home.h"
#include "sched/threads.h"
#include "sched/wake.h"

#include <algorithm>
#include <array>
#include <utility>

namespace thrum::rt {

namespace {

// Fisher and Yates' shuffle: every order is equally likely.
template <class T>
void shuffle(random_source& random, T* all, std::uint32_t count) noexcept {
  for (std::uint32_t left = count; left > 1; --left) std::swap(all[left - 1], all[random.below(left)]);
}

// The randomised mode: puts the older half of p's run queue, and e, into the global queue in random order.
void put_global_in_random_order_locked(P& p, std::uint32_t first, std::uint32_t half, entry e) noexcept {
  std::array<entry, ring_capacity_max / 2 + 1> batch;
  for (std::uint32_t i = 0; i < half; ++i) batch[i] = p.queue.at(first + i);
  batch[half] = e;
  shuffle(p.random, batch.data(), half + 1);
  for (std::uint32_t i = 0; i <= half; ++i) put_global_locked(p.sched, batch[i]);
}

// The randomised mode: shuffles the list, 128 goroutines at a time.
void shuffle_list(random_source& random, g_list& all) noexcept {
  constexpr std::uint32_t at_once = 128;
  std::array<G*, at_once> batch;
  g_list shuffled;
  while (!all.empty()) {
    std::uint32_t count = 0;
    while (count < at_once && !all.empty()) batch[count++] = all.pop_front();
    shuffle(random, batch.data(), count);
    for (std::uint32_t i = 0; i < count; ++i) shuffled.push_back(*batch[i]);
  }
  all = shuffled;
}

}  // namespace

bool put_next_or_last(P& p, entry e) noexcept {
  bool const goes_next = (p.random.next() >> 63U) == 0;
  entry const to_tail = goes_next ? p.queue.swap_next(e) : e;
  if (!to_tail) return false;
  put_tail(p, to_tail);
  store_load_fence();  // e may have been published by put only, which is a release
  return true;
}

// The run queue is full. Dropping its stale entries makes room. If there are none, its older half moves to the global
// queue with e behind it.
void put_tail_slow(P& p, entry e) noexcept {
  Sched& s = p.sched;
  do {
    if (p.queue.drop_stale([&](G& joined) { drop_reference(p, joined); })) continue;
    std::uint32_t first = 0;
    if (!p.queue.claim_older_half(first)) continue;
    count(p.counters.overflows);
    os::lock_guard const guard(s.lock);
    std::uint32_t const half = p.queue.capacity() / 2;
    if (s.options.randomize) {
      put_global_in_random_order_locked(p, first, half, e);
      return;
    }
    for (std::uint32_t i = 0; i < half; ++i) s.global_queue.push(p.queue.at(first + i));
    put_global_locked(s, e);
    return;
  } while (p.queue.put(e) == run_queue::put_result::full);
}

namespace {

// Times about one in 4,000 of the goroutines that leave p (one in 64 looks, one look in 61 runs). It is done here
// because this place is passed seldom.
void time_one_now_and_then(P& p) noexcept {
  constexpr std::uint32_t one_look_in = 64;
  if (++p.looks_up % one_look_in != 0 || p.m == nullptr) return;
  if (G* const leaves = p.m->current) leaves->time_next_turn();
}

}  // namespace

void let_others_pass_runnext(P& p) noexcept {
  Sched& s = p.sched;
  if (std::uint32_t const round = s.trim_rounds.load(relaxed);
      round != p.trim_round) {  // relaxed: any time soon will do
    p.trim_round = round;
    p.stacks.flush(s.stacks);  // sysmon trims the stacks that no P takes back
  }
  time_one_now_and_then(p);
  p.runs_to_look.store(global_tick, relaxed);
  if (p.queue.size() == 0 && s.global_size.load(relaxed) == 0) return;  // relaxed: a check without consequence
  entry const next = p.queue.take_next();
  if (!next) return;
  put_tail(p, next);
  if (s.procs.size() == 1) return;
  store_load_fence();  // on its way it was in no queue, so this is a publication like any other
  wake_if_idle(s);
}

void put_global_locked(Sched& s, entry e) noexcept {
  s.lock.assert_held();
  s.global_queue.push(e);
  s.global_size.store(s.global_queue.size(), seq_cst);  // a publication: see wake.h
}

void commit_to_global(M& m, G& left, void*) noexcept {
  if (left.is_at_home) [[unlikely]]
    return send_home(&m, left);
  {
    os::lock_guard const guard(m.sched.lock);
    put_global_locked(m.sched, entry::runnable(left));
  }
  wake_if_idle(m.sched);
}

std::uint32_t global_share(std::uint32_t length, std::uint32_t procs, std::uint32_t capacity) noexcept {
  return std::min({length, length / procs + 1, capacity / 2});
}

namespace {

bool is_unstarted(entry e) noexcept { return e.g()->status.load(relaxed) == g_status::unstarted; }

// Takes the first plain entry that may have its turn, if it is among the first 32. The entries before it that may not
// go to the end.
entry pop_plain(Sched& s, plain_turn whose) noexcept {
  constexpr int looked_at_max = 32;
  for (int i = 0; i < looked_at_max; ++i) {
    entry const e = s.global_queue.pop_plain();
    if (!e || whose == plain_turn::all || !is_unstarted(e)) return e;
    s.global_queue.push(e);
  }
  return {};
}

// m, which has left the queue, is about to be woken. So it rests no more, and does not count as paused.
M* promised(M* m) noexcept {
  if (m == nullptr || m->is_to_end()) return m;  // give_p does not give the P to an M that is to end
  if (m->rests()) {
    [[maybe_unused]] bool const sleeps = take_from_rest_locked(*m);
    THRUM_DCHECK(sleeps);  // give_p wakes it. An M that was roused does not sleep, but it is not called either
  }
  m->sched.ms.promise(*m);
  return m;
}

// Takes entries in the order in which they came. But if many goroutines are paused, those go first, until sys/preempt.h
// says otherwise (T05).
global_turn pop_global(Sched& s) noexcept {
  if (!s.many_are_paused()) {
    if (s.global_queue.next_is_m()) return {{}, promised(s.global_queue.pop_m())};
    return {s.global_queue.pop_plain()};
  }
  if (auto const whose = std::exchange(s.turn_of_plain, plain_turn::none); whose != plain_turn::none) {
    if (entry const plain = pop_plain(s, whose)) return {plain};
  }
  M* const oldest = promised(s.global_queue.pop_m());
  return oldest != nullptr ? global_turn{{}, oldest} : global_turn{s.global_queue.pop_plain()};
}

}  // namespace

M* take_oldest_locked(Sched& s) noexcept {
  s.lock.assert_held();
  M* const oldest = promised(s.global_queue.pop_m());
  s.global_size.store(s.global_queue.size(), relaxed);  // relaxed: it shrinks, and no thread waits for that
  return oldest;
}

void set_unstarted_aside(P& p) noexcept {
  Sched& s = p.sched;
  auto const set_aside_or = [&](entry e, auto keep) {
    if (is_unstarted(e)) {
      put_global_locked(s, e);
    } else {
      keep(e);
    }
  };
  {
    os::lock_guard const guard(s.lock);
    if (entry const next = p.queue.take_next()) {
      set_aside_or(next, [&](entry e) { static_cast<void>(p.queue.swap_next(e)); });
    }
    for (std::uint32_t left = p.queue.size(); left > 0; --left) {
      entry const e = p.queue.pop();
      if (!e) break;  // a thief was faster
      set_aside_or(e, [&](entry kept) { THRUM_CHECK(p.queue.put(kept) == run_queue::put_result::done); });
    }
  }
  store_load_fence();  // on their way they were in no queue, so this is a publication like any other
  wake_if_idle(s);
}

global_turn take_global_one_locked(Sched& s, P& p) noexcept {
  s.lock.assert_held();
  global_turn const first = pop_global(s);
  if (first) {
    s.global_size.store(s.global_queue.size(), relaxed);  // relaxed: it shrinks, and no thread waits for that
    count(p.counters.global_takes);
  }
  return first;
}

global_turn take_global_batch_locked(Sched& s, P& p) noexcept {
  std::uint32_t share = 1;  // if many are paused, the others get one turn at a time
  if (!s.many_are_paused()) {
    share = global_share(s.global_queue.size(), static_cast<std::uint32_t>(s.procs.size()), p.queue.capacity());
  }
  global_turn const first = take_global_one_locked(s, p);
  if (first.wants_p != nullptr) return first;
  for (; share > 1 && !s.global_queue.next_is_m(); --share) {
    entry const more = s.global_queue.pop_plain();
    if (!more) break;
    // The run queue is empty, and the share is at most half of it.
    THRUM_CHECK(p.queue.put(more) == run_queue::put_result::done);
    count(p.counters.global_takes);
  }
  s.global_size.store(s.global_queue.size(), relaxed);  // relaxed: it shrinks, and no thread waits for that
  return first;
}

namespace {

// Sends the residents of Ms home, and leaves the other goroutines in the list.
void send_residents_home(M* m, g_list& runnable) noexcept {
  g_list others;
  while (G* const g = runnable.pop_front()) {
    if (g->is_at_home) [[unlikely]] {
      send_home(m, *g);
    } else {
      others.push_back(*g);
    }
  }
  runnable = others;
}

}  // namespace

void inject(Sched& s, M* m, g_list& runnable) noexcept {
  send_residents_home(m, runnable);
  bool const has_p = m != nullptr && m->p != nullptr;
  std::uint32_t to_start = 0;
  {
    os::lock_guard const guard(s.lock);
    if (s.options.randomize) shuffle_list(has_p ? m->p->random : s.random, runnable);
    auto const idle = static_cast<std::uint32_t>(s.idle_procs.load(relaxed));  // relaxed: it is exact under the lock
    std::uint32_t const shared = has_p ? std::min(idle, runnable.size()) : runnable.size();
    for (std::uint32_t i = 0; i < shared; ++i) put_global_locked(s, entry::runnable(*runnable.pop_front()));
    to_start = std::min(idle, shared);
  }
  for (; to_start > 0; --to_start) start_idle_p(s);
  if (runnable.empty()) return;
  while (G* const g = runnable.pop_front()) put_tail(*m->p, entry::runnable(*g));
  store_load_fence();
  wake_if_idle(s);
}

}  // namespace thrum::rt
