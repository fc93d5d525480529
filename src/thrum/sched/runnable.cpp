#include "sched/runnable.h"

#include "base/ablation.h"
#include "base/check.h"
#include "base/heuristics.h"
#include "core/trace.h"
#include "sched/home.h"
#include "sched/notify.h"
#include "sched/queues.h"
#include "sched/wake.h"

#include <algorithm>
#include <array>
#include <utility>

namespace thrum::rt {

void make_unstarted_runnable_by_timer(M& m, G& g) noexcept {
  P& p = *m.p;
  g.transition(g_status::dead, g_status::unstarted);
  count(p.counters.created);
  trace::created(m, g, trace::create_detail::by_timer);
  put_tail(runnable_room::key(), p, entry_of_unstarted(g));
  if (m.current == nullptr) return;  // m runs the timers that are due, and ends with what run_due_timers does
  store_load_fence();
  start_m_if_p_is_idle(m.sched);
}

void make_runnable_globally(M& m, G& g) noexcept {
  if (g.is_at_home) [[unlikely]]
    return send_home(runnable_room::key(), &m, g);
  {
    os::lock_guard const guard(m.sched.lock);
    put_global_locked(runnable_room::key(), m.sched, entry::runnable(g));
  }
  start_m_if_p_is_idle(m.sched);
}

void commit_to_global(M& m, G& left, void*) noexcept { make_runnable(m, left, queue_place::global); }

// --- what a search finds ---

namespace {

void put_here_or_home(push_key key, M& m, G& g) noexcept {
  if (g.is_at_home) [[unlikely]] {
    send_home(key, &m, g);
  } else {
    put_tail(key, *m.p, entry::runnable(g));
  }
}

}  // namespace

void search_batch::add(G& g) noexcept { put_here_or_home(runnable_room::key(), m_, g); }

search_batch::~search_batch() {
  bool const has_work_for_others = m_.p->queue.waiting() > 1;  // more than the goroutine that m itself runs next
  if (!has_work_for_others || m_.sched.procs.size() == 1) return;
  store_load_fence();
  start_m_if_p_is_idle(m_.sched);
}

void publish_what_waits(P& p) noexcept {
  if (p.queue.size() == 0) return;
  store_load_fence();
  start_m_if_p_is_idle(p.sched);
}

// --- lists ---

namespace {

// Sends the residents of Ms home, and leaves the other goroutines in the list.
void send_residents_home(push_key key, M* m, g_list& runnable) noexcept {
  g_list others;
  while (G* const g = runnable.pop_front()) {
    if (g->is_at_home) [[unlikely]] {
      send_home(key, m, *g);
    } else {
      others.push_back(*g);
    }
  }
  runnable = others;
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

void inject(Sched& s, M* m, g_list& runnable) noexcept {
  constexpr push_key key = runnable_room::key();
  send_residents_home(key, m, runnable);
  bool const has_p = m != nullptr && m->p != nullptr;
  std::uint32_t to_start = 0;
  {
    os::lock_guard const guard(s.lock);
    if (s.options.randomize) shuffle_list(has_p ? m->p->random : s.random, runnable);
    auto const idle = static_cast<std::uint32_t>(s.idle.count());  // relaxed: it is exact under the lock
    std::uint32_t const shared = has_p ? std::min(idle, runnable.size()) : runnable.size();
    for (std::uint32_t i = 0; i < shared; ++i) put_global_locked(key, s, entry::runnable(*runnable.pop_front()));
    to_start = std::min(idle, shared);
  }
  for (; to_start > 0; --to_start) start_working_m(s);
  if (runnable.empty()) return;
  while (G* const g = runnable.pop_front()) put_tail(key, *m->p, entry::runnable(*g));
  store_load_fence();
  start_m_if_p_is_idle(s);
}

void keep_on_own_p(M& m, g_list& runnable) noexcept {
  while (G* const g = runnable.pop_front()) put_here_or_home(runnable_room::key(), m, *g);
  store_load_fence();
  ensure_put_off_is_watched(*m.p);
}

// --- under sched.lock ---

global_publication::~global_publication() { release_lock(); }

void global_publication::release_lock() noexcept {
  sched_.lock.release();
  if (std::exchange(has_to_wake_, false)) start_m_if_p_is_idle(sched_);
}

void global_publication::put_entry(entry e) noexcept {
  put_global_locked(runnable_room::key(), sched_, e);
  if (sched_.idle.count() != 0) has_to_wake_ = true;
}

void global_publication::put(G& g) noexcept {
  THRUM_DCHECK(!g.keeps_its_m());
  put_entry(entry::plain(&g));
}

void global_publication::put_on_own_thread(G& g) noexcept {
  THRUM_DCHECK(g.only_m != nullptr);
  put_entry(entry::on_own_thread(&g));
}

void put_while_no_p_is_idle_locked(Sched& s, G& g) noexcept {
  THRUM_DCHECK(s.idle.count() == 0 && !g.keeps_its_m());
  put_global_locked(runnable_room::key(), s, entry::plain(&g));
}

// --- moving goroutines that are runnable ---

namespace {

// Times a sample of the goroutines that leave p. It is done here because this place is passed seldom.
void time_one_now_and_then(P& p) noexcept {
  if (++p.look_count % one_in::looks != 0 || p.m == nullptr) return;
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
  p.runs_to_look.store(applies(heuristic::runs_to_look) ? global_tick : 0, relaxed);
  if (p.queue.size() == 0 && s.global_size.load(relaxed) == 0) return;  // relaxed: a check without consequence
  entry const next = p.queue.take_next();
  if (!next) return;
  put_tail(runnable_room::key(), p, next);
  if (s.procs.size() == 1) return;
  store_load_fence();
  start_m_if_p_is_idle(s);
}

void set_unstarted_aside(P& p) noexcept {
  constexpr push_key key = runnable_room::key();
  Sched& s = p.sched;
  {
    os::lock_guard const guard(s.lock);
    entry const next = p.queue.take_next();
    if (next && is_unstarted(next)) {
      put_global_locked(key, s, next);
    } else if (next) {
      static_cast<void>(p.queue.swap_next(key, next));
    }
    for (std::uint32_t left = p.queue.size(); left > 0; --left) {
      entry const e = p.queue.pop();
      if (!e) break;  // a thief was faster
      if (is_unstarted(e)) {
        put_global_locked(key, s, e);
      } else {
        THRUM_CHECK(p.queue.put(key, e) == run_queue::put_result::done);
      }
    }
  }
  store_load_fence();
  start_m_if_p_is_idle(s);
}

global_turn take_from_global(P& p) noexcept {
  Sched& s = p.sched;
  s.lock.acquire();
  global_turn const turn = take_global_batch_locked(runnable_room::key(), s, p);
  s.lock.release();
  if (turn && turn.wants_p == nullptr && !p.queue.is_empty_to_owner()) {
    store_load_fence();
    start_m_if_p_is_idle(s);
  }
  return turn;
}

void move_queue_to_global_locked(P& p) noexcept {
  std::array<entry, run_queue_capacity_max + 1> taken;
  std::size_t count = 0;
  while (entry const next = p.queue.take_next()) taken[count++] = next;
  while (entry const e = p.queue.pop()) taken[count++] = e;
  while (count > 0) put_global_first_locked(runnable_room::key(), p.sched, taken[--count]);
}

}  // namespace thrum::rt
