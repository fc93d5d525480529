// Putting goroutines into queues and taking them out: the P's own, the global one (S07, S08, S11, S39).
#pragma once

#include "core/sched.h"
#include "sched/records.h"

namespace thrum::rt {

// The entry that is pushed for an unstarted G: claimable if somebody may join it.
[[nodiscard]] inline entry entry_of_unstarted(G& g) noexcept {
  return g.is_joinable ? entry::claimable(&g) : entry::plain(&g);
}

// Owner of p: e runs next; the goroutine that stood there goes to the tail. Publishes with seq_cst: wake_if_idle may follow. Answers
// whether one stood there.
//
// Why that is enough for the one at the tail, too. Its store is a release, and on x86 the look at idle_procs that follows may be done
// before others see it. (On aarch64 it may not: stlr and ldar keep their order.) The exchange that put e into runnext is seen before that
// look. So an M that gives its P up afterwards finds e there, or e was taken: by the owner, whose exchange came after the store, or by
// an M that searches. The M that finds e searches as well. Either of them takes e and then wakes the next M to search, or comes to its
// last look again; both take microseconds, and a store is seen within less than one. If it were not, sysmon would find the ring
// (sys/put_off_watch.h). A fence here would make a `go` that kicks another one out a quarter slower at two Ps.
inline bool put_next(P& p, entry e) noexcept;

// Owner of p: e to the tail of the ring. A full ring first forgets stale entries, then sends its older half and e to the
// tail of the global queue in one batch.
inline void put_tail(P& p, entry e) noexcept;

// Owner of p, after 61 runs: ends the slice that goroutines in runnext inherit from each other. If others wait, the one
// that stands there goes behind them, and a slice of its own begins.
void let_others_pass_runnext(P& p) noexcept;

// Owner of p, with too many paused: goroutines that have not started go to the end of the global queue (T05).
void set_unstarted_aside(P& p) noexcept;

// Under sched.lock: m's thread goes to sleep in the middle of user code until its goroutine's turn; and its turn has come.
void begin_pause_locked(M& m) noexcept;
void end_pause_locked(M& m) noexcept;
// Of one that is paused: whether it may have been stopped with a lock in its hands that everybody needs.
[[nodiscard]] bool may_hold_libc_locks(M const& m) noexcept;

// Under sched.lock: the goroutine that has waited longest for its own thread, before its turn. nullptr: there is none.
[[nodiscard]] G* take_oldest_locked(Sched& s) noexcept;

// Under sched.lock.
void put_global_locked(Sched& s, entry e) noexcept;
// A commit step (core/m.h): the goroutine that left goes behind all others, to the global queue. A P is woken for it, because what
// m finds next, one of its residents perhaps, may run for long.
void commit_to_global(M& m, G& left, void*) noexcept;
// The global queue's share for a P with an empty ring: n = min(len, len/procs + 1, capacity/2). The first is answered,
// the others are put into p's ring; a locked one ends the batch, and comes alone.
[[nodiscard]] entry take_global_batch_locked(Sched& s, P& p) noexcept;
[[nodiscard]] entry take_global_one_locked(Sched& s, P& p) noexcept;

// The size of that share.
[[nodiscard]] std::uint32_t global_share(std::uint32_t length, std::uint32_t procs, std::uint32_t capacity) noexcept;

// A list of runnable Gs from the poller, a timer or a crowd that was released at once: fills idle Ps. On an M with a P, as
// many as there are idle Ps go to the global queue, with as many Ms started, and the rest to its own ring; without one, all
// go to the global queue.
void inject(Sched& s, M* m, g_list& runnable) noexcept;

// The G behind an entry that was popped, now to be run by the popper; nullptr for a stale one, which is dropped.
[[nodiscard]] inline G* take_over(P& p, entry e) noexcept;

// --- inline: every `go`, ready and switch comes through here ---

void put_tail_slow(P& p, entry e) noexcept;
// put_next in the randomised mode: half of them go to the tail instead.
bool put_next_or_last(P& p, entry e) noexcept;

inline void put_tail(P& p, entry e) noexcept {
  if (p.queue.put(e) == run_queue::put_result::full) put_tail_slow(p, e);
}

inline bool put_next(P& p, entry e) noexcept {
  if (p.queue.is_randomised()) [[unlikely]]
    return put_next_or_last(p, e);
  entry const kicked_out = p.queue.swap_next(e);
  if (!kicked_out) return false;
  put_tail(p, kicked_out);
  return true;
}

inline G* take_over(P& p, entry e) noexcept {
  G* const g = e.g();
  if (!e.is_claimable() || claim(*g)) return g;
  drop_reference(p, *g);
  return nullptr;
}

}  // namespace thrum::rt
