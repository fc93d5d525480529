#include "sched/home.h"

#include "base/check.h"
#include "core/current.h"
#include "os/chaos.h"
#include "sched/own_thread.h"
#include "sched/runnable.h"
#include "sched/safe_point.h"
#include "sched/suspend.h"
#include "sched/thread_maker.h"
#include "sched/threads.h"
#include "sched/timekeeper.h"
#include "sched/wake.h"
#include "sched/world.h"

#include <utility>

namespace thrum::rt {

namespace {

// The inbox is also looked at now and then while the queue is not empty, because a resident that yields in a loop is
// always in the queue.
constexpr std::uint8_t turns_between_looks = 16;

constexpr std::uint8_t for_good = 255;  // a home_depth that is not counted any further

}  // namespace

void stay_home(M& m) noexcept {
  G& g = *m.current;
  if (g.is_at_home) {
    THRUM_CHECK(g.locked_to == &m);
    if (g.home_depth != for_good) ++g.home_depth;
  } else if (g.detour.is_locked || m.id == 0 || g.blocking_depth != 0) {
    if (g.home_depth == for_good) return;
    lock_where_it_is(m);
    ++g.home_depth;  // counted here too, so that one unlock_os_thread too many cannot undo it
  } else {
    g.is_at_home = true;
    g.home_depth = 1;
    g.locked_to = &m;
    ++m.residents;
  }
}

void leave_home(M& m) noexcept {
  G& g = *m.current;
  if (g.home_depth == for_good) return;
  THRUM_CHECK(g.home_depth != 0);
  --g.home_depth;
  if (!g.is_at_home) {
    unlock_where_it_is(m);
  } else if (g.home_depth == 0) {
    end_home(m, g);
  }
}

void end_home(M& m, G& g) noexcept {
  THRUM_CHECK(g.is_at_home && g.locked_to == &m);
  g.is_at_home = false;
  g.home_depth = 0;
  g.lock_depth = 0;
  g.locked_to = nullptr;
  --m.residents;
}

void stay_for_good(M& m) noexcept {
  G& g = *m.current;
  if (g.is_at_home) end_home(m, g);
  if (!g.detour.is_locked) lock_where_it_is(m);
  g.home_depth = for_good;
}

at_home::at_home() noexcept {
  M* const m = current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign) return;
  enter(*m);
  stay_home(*m);
  leave(*m);
  is_ = true;
}

at_home::~at_home() {
  if (!is_) return;
  M& m = *current_m();
  enter(m);
  leave_home(m);
  leave(m);
}

namespace {

// Called with sched.lock held; releases it.
void give_p_to_resting(Sched& s, M& home, P& p) noexcept {
  bool const sleeps = take_from_rest_locked(home);
  home.next_p = &p;
  home.spinning = false;
  s.lock.release();
  os::chaos_point("home.promised");
  if (sleeps) home.park.wake();
}

// Has m wait for a P in the global queue, for its residents. m rests, or is about to under the same lock.
void call_locked(M& m) noexcept {
  Sched& s = m.sched;
  s.global_queue.call(m);
  s.global_size.store(s.global_queue.size(), seq_cst);  // a publication: see wake.h
}

// `home` has a resident to run. Called with sched.lock held; releases it.
void see_that_it_runs(Sched& s, M& home) noexcept {
  // an M that was roused comes to takes_p_for_residents by itself
  if (s.stopping || home.wants_p || !home.rests() || home.status == m_status::roused) {
    s.lock.release();
    return;
  }
  P* const p = take_idle_p(s);
  if (p == nullptr) {
    call_locked(home);
    s.lock.release();
    return;
  }
  give_p_to_resting(s, home, *p);
}

}  // namespace

void send_home(push_key key, M* by, G& g) noexcept {
  M& home = *g.locked_to;
  g.comes_home = true;
  if (by == &home) {  // that M looks at its queue before it rests
    home.home_queue.push_back(key, g);
    home.ready_at_home.fetch_add(1U, relaxed);
    return;
  }
  Sched& s = home.sched;
  s.lock.acquire();
  home.home_inbox.push_back(key, g);
  home.ready_at_home.fetch_add(1U, relaxed);  // relaxed: a hint outside of the lock
  see_that_it_runs(s, home);
}

found take_at_home(M& m) noexcept {
  // relaxed: checked under the lock before the P is given up
  std::uint32_t const ready = m.ready_at_home.load(relaxed);
  if (ready == 0) return {};
  if (std::exchange(m.home_was_last, false) && !m.p->queue.is_empty_to_owner()) return {};
  if (m.home_queue.empty()) {
    os::lock_guard const guard(m.sched.lock);
    m.home_queue.append(m.home_inbox);
  } else if (m.home_queue.size() < ready && ++m.turns_past_inbox >= turns_between_looks) {
    m.turns_past_inbox = 0;
    os::lock_guard const guard(m.sched.lock);
    m.home_queue.append(m.home_inbox);
  }
  G* const g = m.home_queue.pop_front();
  if (g == nullptr) return {};
  m.ready_at_home.fetch_sub(1U, relaxed);
  m.home_was_last = true;
  g->comes_home = false;
  return {g, false};
}

bool takes_p_for_residents(Sched& s, M& m) noexcept {
  s.lock.assert_held();
  if (m.ready_at_home.load(relaxed) == 0) [[likely]]
    return false;
  if (P* const p = take_idle_p(s)) {
    if (s.ms.timekeeper() == &m) static_cast<void>(relieve_timekeeper(s));  // it had been woken to look again
    acquire_p(m, *p);
    m.owes_watch = true;
    return true;
  }
  call_locked(m);
  return false;
}

// --- making way ---

namespace {

using to = home_move::to;

bool is_as_wanted(M const& m, to which) noexcept { return (m.residents != 0) == (which == to::somebodys_home); }

M* find_resting_locked(Sched const& s, to which) noexcept {
  for (M* m = s.ms.first_idle(); m != nullptr; m = m->idle_link) {
    if (is_as_wanted(*m, which)) return m;
  }
  M* const keeper = s.ms.timekeeper();
  return keeper != nullptr && is_as_wanted(*keeper, which) ? keeper : nullptr;
}

// `left` waits for its turn in the global queue, and tries to move when it comes. Called with sched.lock held; releases
// it. A P is woken for `left`, because m keeps its P, and what it finds next may run for long.
void try_later(M& m, G& left, bool orders_spare) noexcept {
  Sched& s = m.sched;
  s.wants_spare = s.wants_spare || orders_spare;
  global_publication(s, global_publication::lock_is_held()).put(left);
  if (orders_spare) ring_thread_maker(s);
}

}  // namespace

void commit_move(M& m, G& left, void* argument) noexcept {
  auto& its = *static_cast<home_move*>(argument);
  Sched& s = m.sched;
  P& p = *m.p;
  s.lock.acquire();
  if (s.stopping || is_to_stop(p)) return try_later(m, left, false);
  bool const stands_in = its.which == to::nobodys_home;
  M* const rested = find_resting_locked(s, its.which);
  if (rested == nullptr && (!stands_in || !may_have_starting_m_locked(s))) {
    its.no_thread = true;
    s.lock.release();
    m.brought = &left;
    return;
  }
  // A thread is made only after the goroutines that may be paused while they hold a lock of the C library have gone on:
  // see whose_turn_comes_first_locked. A spare thread takes no P from them.
  if (rested == nullptr && s.ms.count(m_status::paused_in_libc) != 0) return try_later(m, left, true);
  bool const sleeps = rested != nullptr && take_from_rest_locked(*rested);
  M& next = rested != nullptr ? *rested : starting_m_locked(s);
  if (rested == nullptr) attend_to(p);  // it may take long until its thread exists
  // From here on the goroutine may run, and its frame, which contains `its`, may be gone.
  m.p = nullptr;
  p.m = nullptr;
  next.next_p = &p;
  next.brought = &left;
  next.stands_in = stands_in;
  next.leaves = next.usual_leaving();
  next.spinning = false;
  s.lock.release();
  os::chaos_point("home.moved");
  if (rested == nullptr) {
    ring_thread_maker(s);
  } else if (sleeps) {
    next.park.wake();
  }
}

namespace {

M& move_on(M& m, home_move& its) noexcept {
  m.current->transition(g_status::running, g_status::runnable);
  return suspend_without_p(m, commit_move, &its);
}

bool somebodys_home_rests(Sched& s) noexcept {
  os::lock_guard const guard(s.lock);
  return find_resting_locked(s, to::somebodys_home) != nullptr;
}

}  // namespace

M& make_way(M& m) noexcept {
  M* here = &m;
  // also a goroutine that was locked here at the limit of threads, because no other M could run it
  if (here->current->keeps_its_m()) return m;
  for (home_move its{to::nobodys_home}; here->residents != 0 && !its.no_thread;) here = &move_on(*here, its);
  return *here;
}

M& go_back(M& m) noexcept {
  G const& g = *m.current;
  if (m.leaves == leaving::in_place || g.is_at_home || g.blocking_depth != 0) return m;
  stand_in_no_more(m);
  if (!somebodys_home_rests(m.sched)) return m;
  home_move its{to::somebodys_home};
  return move_on(m, its);
}

void stand_back(M& m) noexcept {
  Sched& s = m.sched;
  stand_in_no_more(m);
  s.lock.acquire();
  M* const home = s.stopping || is_to_stop(*m.p) ? nullptr : find_resting_locked(s, to::somebodys_home);
  if (home == nullptr) {
    s.lock.release();
    return;
  }
  P& p = *std::exchange(m.p, nullptr);
  p.m = nullptr;
  give_p_to_resting(s, *home, p);
}

M& arrive_announced(M& m, G& g) noexcept {
  M& here = m.residents != 0 ? make_way(m) : m;
  stay_announced(here, g);
  return here;
}

}  // namespace thrum::rt
