// Making goroutines runnable: the only code that puts them into queues (decision 020), except for stealing. A thief
// moves entries from one run queue to its own (run_queue::steal_half_from) and then wakes the next M
// (end_spinning_with_work in sched/find_runnable.cpp).
//
// A goroutine that was put into a queue has to be found. So a publication needs more than the queue: a store-load, a
// check whether an M has to be started on an idle P (sched/wake.h), and the knowledge that a goroutine which is at home
// goes to its own M and nowhere else (sched/home.h). The functions below do all of that. Callers only say where the
// goroutine goes:
//
//   where                          how other Ms see it                   which M is woken
//   queue_place::next              exchange of runnext, seq_cst          one for an idle P, or this is put off (wake.h)
//   queue_place::tail              tail of the run queue, and a fence    one for an idle P
//   queue_place::global            global_size, seq_cst                  one for an idle P
//   search_batch                   tail of the run queue                 none for a single goroutine, because the M
//                                                                        that searches runs it; otherwise as for
//                                                                        queue_place::tail
//   inject                         global_size; tail and a fence         one for each idle P, as far as there is work
//   keep_on_own_p                  tail of the run queue, and a fence    none; sysmon watches it (poll.h)
//   global_publication             global_size, seq_cst                  one for an idle P, once sched.lock is released
//   put_while_no_p_is_idle_locked  global_size, seq_cst                  none, because no P is idle
//
// A resident of an M goes to that M's own queue, wherever else the caller sends it, unless it was interrupted and its
// thread sleeps in its frames (put_on_own_thread). If the M rests, it gets an idle P and is woken, or it waits in the
// global queue for a P.
//
// The functions at the end move goroutines that are runnable already. On its way a goroutine is in no queue for a
// moment, so a searching M may have missed it. That makes its arrival a publication like any other.
#pragma once

#include "base/ablation.h"
#include "core/sched.h"
#include "core/trace.h"
#include "sched/home.h"
#include "sched/notify.h"
#include "sched/queues.h"
#include "sched/wake.h"

namespace thrum::rt {

enum class queue_place : std::uint8_t {
  next,    // it is the next to run on m's P
  tail,    // behind the others in the run queue of m's P
  global,  // behind all others, to the global queue
};

// Makes g, which has run before and is in state `runnable`, known to the Ms. Called on m's thread. m holds a P, except
// for queue_place::global. With queue_place::next, g counts as readied by m's P.
inline void make_runnable(M& m, G& g, queue_place where) noexcept;

// The same for a new goroutine, whose record is complete and in state `dead`. It is the next to run on m's P.
inline void make_unstarted_runnable(M& m, G& g) noexcept;

// The same for the callback of a timer. The goroutine goes to the tail of the run queue of m's P. If m runs the timers
// that are due, on g0, then the search_batch of run_due_timers wakes other Ms for all goroutines that these timers make
// runnable.
void make_unstarted_runnable_by_timer(M& m, G& g) noexcept;

// A commit step (core/m.h): the goroutine that left goes behind all others, to the global queue. An M is started on an
// idle P for it, because the goroutine that m finds next, perhaps one of its residents, may run for long.
void commit_to_global(M& m, G& left, void*) noexcept;

// Goroutines that an M finds while it searches for work, on g0 with a P: by timers that are due, or in the poller. They
// go to the tail of its own run queue, where it looks next.
class [[nodiscard]] search_batch {
 public:
  explicit search_batch(M& m) noexcept : m_(m) {}
  ~search_batch();
  search_batch(search_batch const&) = delete;
  search_batch& operator=(search_batch const&) = delete;

  void add(G& g) noexcept;

 private:
  M& m_;
};
// The owner of p has found a goroutine that runs before those in p's run queue. A search_batch may have put a single
// goroutine there and have woken no M for it.
void publish_what_waits(P& p) noexcept;

// Queues a list of runnable Gs from the poller, a timer or a crowd that was released at once, so that they fill idle
// Ps. On an M with a P, as many Gs as there are idle Ps go to the global queue, as many Ms are started, and the rest go
// to the M's own run queue. Without a P, all go to the global queue.
void inject(Sched& s, M* m, g_list& runnable) noexcept;

// The goroutines of a list go to the tail of the run queue of m's P. No M is woken for them, because m runs them all
// sooner than another M would come. sysmon watches whether that is so (sched/poll.h).
void keep_on_own_p(M& m, g_list& runnable) noexcept;

// Puts goroutines into the global queue together with other changes under sched.lock. Holds that lock from its
// beginning to its end. Each time that it has released the lock, it starts an M on an idle P if it has put something
// while a P was idle. If none was, the M that gives up the next P checks the global queue, under the same lock.
class [[nodiscard]] global_publication {
 public:
  explicit global_publication(Sched& s) noexcept : sched_(s) { s.lock.acquire(); }
  // Takes over the lock, which the caller holds, and releases it at the end, like std::adopt_lock.
  struct adopt_lock {};
  global_publication(Sched& s, adopt_lock) noexcept : sched_(s) { s.lock.assert_held(); }
  ~global_publication();
  global_publication(global_publication const&) = delete;
  global_publication& operator=(global_publication const&) = delete;

  // g has left its stack or has none, and is not at home.
  void put(G& g) noexcept;
  // g continues only on its own thread, which is about to sleep in g's frames (sched/own_thread.h). It may be a
  // resident of that thread's M.
  void put_on_own_thread(G& g) noexcept;

  // For the time between these two the lock is free.
  void release_lock() noexcept;
  void acquire_lock() noexcept { sched_.lock.acquire(); }

 private:
  void put_entry(entry e) noexcept;

  Sched& sched_;
  bool has_to_wake_ = false;
};

// Under sched.lock, while no P is idle: puts g, which is not at home, into the global queue. No M has to be started. An
// M that gives a P up later checks the global queue.
void put_while_no_p_is_idle_locked(Sched& s, G& g) noexcept;

// --- moving goroutines that are runnable ---

// Called by the owner of p after 61 runs: ends the slice that goroutines in runnext inherit from each other. If other
// goroutines wait, the one in runnext goes behind them, and later begins a slice of its own.
void let_others_pass_runnext(P& p) noexcept;

// Called by the owner of p when too many goroutines are paused: goroutines that have not started go to the end of the
// global queue (T05).
void set_unstarted_aside(P& p) noexcept;

// Called by the owner of p, whose run queue is empty. Takes a share of the global queue: the first entry is returned,
// and the others are put into p's run queue.
[[nodiscard]] global_turn take_from_global(P& p) noexcept;

// Under sched.lock, while the world is stopped: moves p's run queue to the head of the global queue. The goroutine that
// would have run next is first. Ms are woken when the world starts.
void move_queue_to_global_locked(P& p) noexcept;

// --- inline, because every `go`, `ready` and `yield` uses them ---

void make_runnable_globally(M& m, G& g) noexcept;  // queue_place::global

// The functions that put goroutines into queues. No others can, except run_queue::steal_half_from.
struct runnable_room {
 private:
  static constexpr push_key key() noexcept { return {}; }

  friend void make_runnable(M& m, G& g, queue_place where) noexcept;
  friend void make_unstarted_runnable(M& m, G& g) noexcept;
  friend void make_unstarted_runnable_by_timer(M& m, G& g) noexcept;
  friend void make_runnable_globally(M& m, G& g) noexcept;
  friend void inject(Sched& s, M* m, g_list& runnable) noexcept;
  friend void keep_on_own_p(M& m, g_list& runnable) noexcept;
  friend void put_while_no_p_is_idle_locked(Sched& s, G& g) noexcept;
  friend void let_others_pass_runnext(P& p) noexcept;
  friend void set_unstarted_aside(P& p) noexcept;
  friend global_turn take_from_global(P& p) noexcept;
  friend void move_queue_to_global_locked(P& p) noexcept;
  friend class search_batch;
  friend class global_publication;
};

[[gnu::always_inline]] inline void make_runnable(M& m, G& g, queue_place where) noexcept {
  if (where == queue_place::global) return make_runnable_globally(m, g);
  P& p = *m.p;
  if (where == queue_place::next) count(p.counters.readies);
  if (g.is_at_home) [[unlikely]]
    return send_home(runnable_room::key(), &m, g);
  if (where == queue_place::next) {
    bool const crowded = put_next(runnable_room::key(), p, entry::runnable(g));
    if (!p.queue.has_thieves()) return;  // there is no other P on which an M could be started
    if (crowded || !applies(heuristic::put_off_wakeups) || !may_put_off_waking(p)) {
      start_m_if_p_is_idle(m.sched);
    } else {
      ensure_put_off_is_watched(p);
    }
  } else {
    put_tail(runnable_room::key(), p, entry::runnable(g));
    if (m.sched.procs.size() == 1) return;
    store_load_fence();
    start_m_if_p_is_idle(m.sched);
  }
}

[[gnu::always_inline]] inline void make_unstarted_runnable(M& m, G& g) noexcept {
  P& p = *m.p;
  g.transition(g_status::dead, g_status::unstarted);
  count(p.counters.created);
  trace::created(m, g, g.is_joinable ? trace::create_detail::joinable : trace::create_detail::plainly);
  static_cast<void>(put_next(runnable_room::key(), p, entry_of_unstarted(g)));
  if (p.queue.has_thieves()) start_m_if_p_is_idle(m.sched);  // otherwise there is no other P
}

}  // namespace thrum::rt
