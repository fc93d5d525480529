// The P's run queue and the global queue: putting goroutines in and taking them out (S07, S08, S11, S39).
//
// The functions that put something in wake no M. They are called by sched/runnable.*, which does that, and which alone
// can make the push_key that they take.
#pragma once

#include "core/push_key.h"
#include "core/sched.h"
#include "sched/records.h"

#include <utility>

namespace thrum::rt {

// The entry that is pushed for an unstarted G. It is claimable if the G is joinable.
[[nodiscard]] inline entry entry_of_unstarted(G& g) noexcept {
  return g.is_joinable ? entry::claimable(&g) : entry::plain(&g);
}

// Called by the owner of p: e runs next, and the goroutine that stood in runnext goes to the tail of the run queue.
// Returns whether one stood there. e is published with seq_cst, so start_m_if_p_is_idle may follow.
//
// Why that is enough for the goroutine at the tail, too. Its store is a release, and on x86 the load of the number of
// idle Ps that follows may be done before other threads see the store. (On aarch64 it may not, because stlr and ldar
// keep their order.) The exchange that put e into runnext is seen before that load. So an M that gives its P up later
// finds e there, or e was taken: by the owner, whose exchange came after the store, or by an M that searches.
//
// The M that finds e searches as well. Either of these two Ms takes e and then wakes the next M to search, or comes to
// its last check once more. Both take microseconds, and a store is seen within less than one. If it were not, sysmon
// would find the goroutine in the run queue (sys/put_off_watch.h). A fence here would make a `go` that moves another
// goroutine out of runnext a quarter slower at two Ps.
inline bool put_next(push_key key, P& p, entry e) noexcept;

// Called by the owner of p: puts e at the tail of the run queue. A full run queue first drops its stale entries. If it
// had none, it sends its older half and e to the tail of the global queue in one batch.
inline void put_tail(push_key key, P& p, entry e) noexcept;

// Under sched.lock: takes the M that has waited longest for a P, before its turn. The caller gives it one (give_p).
// nullptr: there is none.
[[nodiscard]] M* take_oldest_locked(Sched& s) noexcept;

// Under sched.lock: puts e at the tail, or at the head, of the global queue. This is a publication: see wake.h.
void put_global_locked(push_key key, Sched& s, entry e) noexcept;
void put_global_first_locked(push_key key, Sched& s, entry e) noexcept;

// What has its turn in the global queue: a plain entry, or an M that wants a P. The caller gives the M its own P
// (give_p).
struct global_turn {
  entry plain;
  M* wants_p = nullptr;

  explicit operator bool() const noexcept { return plain || wants_p != nullptr; }
};
// The share of the global queue for a P with an empty run queue: n = min(len, len/procs + 1, capacity/2). The first
// entry is returned, and the others are put into p's run queue. An M ends the batch, and is returned alone.
[[nodiscard]] global_turn take_global_batch_locked(push_key key, Sched& s, P& p) noexcept;
[[nodiscard]] global_turn take_global_one_locked(Sched& s, P& p) noexcept;

// Step 3 of the right column of the table of queues (sched/wake.h): whether any queue shows work.
[[nodiscard]] bool work_anywhere(Sched& s) noexcept;

// The size of that share.
[[nodiscard]] std::uint32_t global_share(std::uint32_t length, std::uint32_t procs, std::uint32_t capacity) noexcept;

[[nodiscard]] inline bool is_unstarted(entry e) noexcept { return e.g()->status.load(relaxed) == g_status::unstarted; }

// Fisher and Yates' shuffle: every order is equally likely. For the randomised mode.
template <class T>
void shuffle(random_source& random, T* all, std::uint32_t count) noexcept {
  for (std::uint32_t left = count; left > 1; --left) std::swap(all[left - 1], all[random.below(left)]);
}

// The G of an entry that was popped; the caller runs it. nullptr: the entry was stale, and is dropped.
[[nodiscard]] inline G* take_over(P& p, entry e) noexcept;

// --- inline, because every `go`, `ready` and switch uses them ---

void put_tail_slow(push_key key, P& p, entry e) noexcept;
// put_next in the randomised mode: half of the entries go to the tail instead.
bool put_next_or_last(push_key key, P& p, entry e) noexcept;

inline void put_tail(push_key key, P& p, entry e) noexcept {
  if (p.queue.put(key, e) == run_queue::put_result::full) put_tail_slow(key, p, e);
}

inline bool put_next(push_key key, P& p, entry e) noexcept {
  if (p.queue.is_randomised()) [[unlikely]]
    return put_next_or_last(key, p, e);
  entry const kicked_out = p.queue.swap_next(key, e);
  if (!kicked_out) return false;
  put_tail(key, p, kicked_out);
  return true;
}

inline G* take_over(P& p, entry e) noexcept {
  G* const g = e.g();
  if (!e.is_claimable() || claim(*g)) return g;
  drop_reference(p, *g);
  return nullptr;
}

}  // namespace thrum::rt
