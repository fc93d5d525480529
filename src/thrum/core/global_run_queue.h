// The global run queue, first in, first out (S09, S11).
//
// It consists of three lists:
//
//  - plain entries: goroutines that any M may run;
//  - Ms that sleep, or are about to, in the frames of a goroutine which can continue only there: it is locked to the
//    thread, or was paused in the middle of user code. The oldest of them can be taken before its turn (T05);
//  - Ms that rest, or are about to, and want a P for their residents: goroutines that are at home there are runnable
//    (sched/home.h).
//
// An M of either kind wants a P. It remembers in M::turn how many plain entries had come before it, and its turn comes
// when as many plain entries have gone.
//
// Not synchronised: it is accessed under sched.lock.
#pragma once

#include "base/check.h"
#include "core/blocks.h"
#include "core/entry.h"
#include "core/m_list.h"
#include "core/push_key.h"

#include <cstdint>

namespace thrum::rt {

// A queue of Ms that want a P.
class m_queue {
 public:
  [[nodiscard]] M* front() const noexcept { return ms_.first(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

  void push_back(M& m) noexcept { insert_before(nullptr, m); }
  void push_front(M& m) noexcept { insert_before(ms_.first(), m); }

  void remove(M& m) noexcept {
    ms_.remove(m);
    m.wants_p = false;
    --size_;
  }

  M* pop_front() noexcept {
    M* const first = ms_.first();
    if (first != nullptr) remove(*first);
    return first;
  }

 private:
  void insert_before(M* behind, M& m) noexcept {
    THRUM_DCHECK(!m.wants_p);
    ms_.insert_before(behind, m);
    m.wants_p = true;
    ++size_;
  }

  m_chain<&M::queue_links> ms_;
  std::uint32_t size_ = 0;
};

// The number of entries, for threads that do not hold sched.lock. It stands apart from the queue, beside the other
// words that every search reads (core/sched.h), and not on the line of the lock. Only the queue writes it.
class global_size {
 public:
  [[nodiscard]] std::uint32_t load(std::memory_order order) const noexcept { return entries_.load(order); }

 private:
  friend class global_run_queue;
  friend struct debugger_rows;
  atomic<std::uint32_t> entries_{0};
};

class global_run_queue {
 public:
  explicit global_run_queue(global_size& said) noexcept : said_(said) {}

  // Makes room for so many plain entries. Returns false if there is no memory.
  [[nodiscard]] bool reserve(std::size_t entries) noexcept { return plain_.reserve(entries); }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return plain_.size() + in_frames_.size() + for_residents_.size();
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] bool has_plain() const noexcept { return !plain_.empty(); }
  [[nodiscard]] bool has_ms() const noexcept { return in_frames_.size() + for_residents_.size() != 0; }

  // Calls visit(entry) for the first `most` plain entries, the next one first.
  template <class F>
  void for_each_plain(std::uint32_t most, F visit) const noexcept {
    plain_.for_each(most, [&](std::uintptr_t word) noexcept { visit(entry::from_bits(word)); });
  }

  // In the place of an entry on its own thread stands the M of that thread. Like every operation that adds something,
  // this is a publication (sched/wake.h): the new size is stored with seq_cst.
  void push(push_key, entry e) noexcept {
    add(e);
    say_grown();
  }
  // The same for entry_of(0) to entry_of(count - 1), with one publication.
  template <class F>
  void push_all(push_key, std::uint32_t count, F entry_of) noexcept {
    for (std::uint32_t i = 0; i < count; ++i) add(entry_of(i));
    say_grown();
  }

  // Puts e before all others.
  void push_front(push_key, entry e) noexcept {
    if (e.is_on_own_thread()) {
      M& m = *e.g()->only_m;
      m.turn = went_;
      in_frames_.push_front(m);
    } else {
      --went_;  // the entries that stand here come after it
      plain_.push_front(e.bits());
    }
    say_grown();
  }

  // queue_for_residents: m rests, or is about to under the same lock, and residents of it are runnable. m wants a P: it
  // stands in this queue until another M gives it one. withdraw: m leaves the queue, because it gets a P in another
  // way, is roused as the timekeeper, or has to end.
  void queue_for_residents(M& m) noexcept {
    m.turn = came_;
    for_residents_.push_back(m);
    say_grown();
  }
  void withdraw(M& m) noexcept {
    THRUM_DCHECK(m.rests());
    for_residents_.remove(m);
    say_shrunk();
  }
  [[nodiscard]] M* first_for_residents() const noexcept { return for_residents_.front(); }

  // Whether the next turn is that of an M, which pop_m takes. Otherwise it is that of a plain entry.
  [[nodiscard]] bool next_is_m() const noexcept {
    M const* const first = oldest();
    return first != nullptr && first->turn <= went_;
  }

  // Takes the first plain entry.
  entry pop_plain() noexcept {
    entry const e = take_plain();
    say_shrunk();
    return e;
  }

  // Takes up to `count` plain entries while their turn is next, and calls put(entry) for each. Other threads see the
  // smaller size only afterwards. Otherwise an M that gives its P up could miss an entry on its way to a run queue.
  template <class F>
  void pop_plain_batch(std::uint32_t count, F put) noexcept {
    for (; count > 0 && !plain_.empty() && !next_is_m(); --count) put(take_plain());
    say_shrunk();
  }

  // Takes the first plain entry for which may_go(entry) is true, if it is among the first `looked_at` plain entries.
  // The entries before it go to the end.
  template <class F>
  entry pop_plain_if(std::uint32_t looked_at, F may_go) noexcept {
    for (; looked_at > 0; --looked_at) {
      entry const e = take_plain();
      if (!e || may_go(e)) {
        say_shrunk();
        return e;
      }
      add(e);  // the size that other threads see does not change meanwhile
    }
    return {};
  }

  // Takes the M that has waited longest for a P, before the plain entries that precede it. nullptr: there is none.
  M* pop_m() noexcept {
    M* const m = oldest();
    if (m == nullptr) return nullptr;
    (m == for_residents_.front() ? for_residents_ : in_frames_).remove(*m);
    say_shrunk();
    return m;
  }

  // The same, but only of the Ms that sleep in a goroutine's frames.
  M* pop_in_frames() noexcept {
    M* const m = in_frames_.pop_front();
    say_shrunk();
    return m;
  }

 private:
  void add(entry e) noexcept {
    if (e.is_on_own_thread()) {
      M& m = *e.g()->only_m;
      m.turn = came_;
      in_frames_.push_back(m);
    } else {
      ++came_;
      plain_.push(e.bits());
    }
  }
  entry take_plain() noexcept {
    if (plain_.empty()) return {};
    ++went_;
    return entry::from_bits(plain_.pop());
  }

  void say_grown() noexcept { said_.entries_.store(size(), seq_cst); }
  // relaxed: no thread waits until the queue is smaller
  void say_shrunk() noexcept { said_.entries_.store(size(), relaxed); }

  [[nodiscard]] M* oldest() const noexcept {
    M* const in_frames = in_frames_.front();
    M* const home = for_residents_.front();
    bool const home_is_older = home != nullptr && (in_frames == nullptr || home->turn < in_frames->turn);
    return home_is_older ? home : in_frames;
  }

  global_size& said_;
  word_queue plain_;
  m_queue in_frames_;
  m_queue for_residents_;
  static constexpr std::uint64_t nothing_yet = 1ULL << 32U;  // not 0, because push_front counts went_ down
  std::uint64_t came_ = nothing_yet;                         // plain entries that were pushed, so far
  std::uint64_t went_ = nothing_yet;                         // plain entries that were taken, so far
};

}  // namespace thrum::rt
