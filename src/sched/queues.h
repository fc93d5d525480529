// Putting goroutines into queues and taking them out: the P's run queue and the global queue (S07, S08, S11, S39).
#pragma once

#include "core/sched.h"
#include "sched/records.h"

namespace thrum::rt {

// The entry that is pushed for an unstarted G. It is claimable if the G is joinable.
[[nodiscard]] inline entry entry_of_unstarted(G& g) noexcept {
  return g.is_joinable ? entry::claimable(&g) : entry::plain(&g);
}

// Called by the owner of p: e runs next, and the goroutine that stood in runnext goes to the tail of the run queue.
// Returns whether one stood there. e is published with seq_cst, so wake_if_idle may follow.
//
// Why that is enough for the goroutine at the tail, too. Its store is a release, and on x86 the load of idle_procs that
// follows may be done before other threads see the store. (On aarch64 it may not, because stlr and ldar keep their
// order.) The exchange that put e into runnext is seen before that load. So an M that gives its P up afterwards finds e
// there, or e was taken: by the owner, whose exchange came after the store, or by an M that searches.
//
// The M that finds e searches as well. Either of these two Ms takes e and then wakes the next M to search, or comes to
// its last check once more. Both take microseconds, and a store is seen within less than one. If it were not, sysmon
// would find the goroutine in the run queue (sys/put_off_watch.h). A fence here would make a `go` that moves another
// goroutine out of runnext a quarter slower at two Ps.
inline bool put_next(P& p, entry e) noexcept;

// Called by the owner of p: puts e at the tail of the run queue. A full run queue first drops its stale entries. If it
// had none, it sends its older half and e to the tail of the global queue in one batch.
inline void put_tail(P& p, entry e) noexcept;

// Called by the owner of p after 61 runs: ends the slice that goroutines in runnext inherit from each other. If other
// goroutines wait, the one in runnext goes behind them, and later begins a slice of its own.
void let_others_pass_runnext(P& p) noexcept;

// Called by the owner of p when too many goroutines are paused: goroutines that have not started go to the end of the
// global queue (T05).
void set_unstarted_aside(P& p) noexcept;

// Under sched.lock: takes the M that has waited longest for a P, before its turn. The caller gives it one (give_p).
// nullptr: there is none.
[[nodiscard]] M* take_oldest_locked(Sched& s) noexcept;

// Under sched.lock: puts e at the tail of the global queue.
void put_global_locked(Sched& s, entry e) noexcept;
// A commit step (core/m.h): the goroutine that left goes behind all others, to the global queue. A P is woken for it,
// because the goroutine that m finds next, perhaps one of its residents, may run for long.
void commit_to_global(M& m, G& left, void*) noexcept;

// What has its turn in the global queue: a plain entry, or an M that wants a P. The caller gives the M its own P
// (give_p).
struct global_turn {
  entry plain;
  M* wants_p = nullptr;

  explicit operator bool() const noexcept { return plain || wants_p != nullptr; }
};
// The share of the global queue for a P with an empty run queue: n = min(len, len/procs + 1, capacity/2). The first
// entry is returned, and the others are put into p's run queue. An M ends the batch, and is returned alone.
[[nodiscard]] global_turn take_global_batch_locked(Sched& s, P& p) noexcept;
[[nodiscard]] global_turn take_global_one_locked(Sched& s, P& p) noexcept;

// The size of that share.
[[nodiscard]] std::uint32_t global_share(std::uint32_t length, std::uint32_t procs, std::uint32_t capacity) noexcept;

// Queues a list of runnable Gs from the poller, a timer or a crowd that was released at once, so that they fill idle
// Ps. On an M with a P, as many Gs as there are idle Ps go to the global queue, as many Ms are started, and the rest go
// to the M's own run queue. Without a P, all go to the global queue.
void inject(Sched& s, M* m, g_list& runnable) noexcept;

// The G of an entry that was popped; the caller runs it. nullptr: the entry was stale, and is dropped.
[[nodiscard]] inline G* take_over(P& p, entry e) noexcept;

// --- inline, because every `go`, `ready` and switch uses them ---

void put_tail_slow(P& p, entry e) noexcept;
// put_next in the randomised mode: half of the entries go to the tail instead.
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
