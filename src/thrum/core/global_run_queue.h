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
#include "core/m.h"
#include "core/push_key.h"

#include <cstdint>

namespace thrum::rt {

// A queue of Ms that want a P.
class m_queue {
 public:
  [[nodiscard]] M* front() const noexcept { return head_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

  void push_back(M& m) noexcept { insert(m, tail_, nullptr); }
  void push_front(M& m) noexcept { insert(m, nullptr, head_); }

  void remove(M& m) noexcept {
    (m.queue_back != nullptr ? m.queue_back->queue_link : head_) = m.queue_link;
    (m.queue_link != nullptr ? m.queue_link->queue_back : tail_) = m.queue_back;
    m.wants_p = false;
    --size_;
  }

  M* pop_front() noexcept {
    M* const first = head_;
    if (first != nullptr) remove(*first);
    return first;
  }

 private:
  void insert(M& m, M* before, M* behind) noexcept {
    THRUM_DCHECK(!m.wants_p);
    m.queue_back = before;
    m.queue_link = behind;
    (before != nullptr ? before->queue_link : head_) = &m;
    (behind != nullptr ? behind->queue_back : tail_) = &m;
    m.wants_p = true;
    ++size_;
  }

  M* head_ = nullptr;
  M* tail_ = nullptr;
  std::uint32_t size_ = 0;
};

class global_run_queue {
 public:
  // Makes room for so many plain entries. Returns false if there is no memory.
  [[nodiscard]] bool reserve(std::size_t entries) noexcept { return plain_.reserve(entries); }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return plain_.size() + in_frames_.size() + for_residents_.size();
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] bool has_plain() const noexcept { return !plain_.empty(); }
  [[nodiscard]] bool has_ms() const noexcept { return in_frames_.size() + for_residents_.size() != 0; }

  // In the place of an entry on its own thread stands the M of that thread.
  void push(push_key, entry e) noexcept {
    if (e.is_on_own_thread()) {
      M& m = *e.g()->only_m;
      m.turn = came_;
      in_frames_.push_back(m);
    } else {
      ++came_;
      plain_.push(e.bits());
    }
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
  }

  // queue_for_residents: m rests, or is about to under the same lock, and residents of it are runnable. m wants a P: it
  // stands in this queue until another M gives it one. withdraw: m leaves the queue, because it gets a P in another
  // way, is roused as the timekeeper, or has to end.
  void queue_for_residents(M& m) noexcept {
    m.turn = came_;
    for_residents_.push_back(m);
  }
  void withdraw(M& m) noexcept {
    THRUM_DCHECK(m.rests());
    for_residents_.remove(m);
  }
  [[nodiscard]] M* first_for_residents() const noexcept { return for_residents_.front(); }

  // Whether the next turn is that of an M, which pop_m takes. Otherwise it is that of a plain entry.
  [[nodiscard]] bool next_is_m() const noexcept {
    M const* const first = oldest();
    return first != nullptr && first->turn <= went_;
  }

  // Takes the first plain entry.
  entry pop_plain() noexcept {
    if (plain_.empty()) return {};
    ++went_;
    return entry::from_bits(plain_.pop());
  }

  // Takes the first plain entry for which may_go(entry) is true, if it is among the first `looked_at` plain entries.
  // The entries before it go to the end.
  template <class F>
  entry pop_plain_if(std::uint32_t looked_at, F may_go) noexcept {
    for (; looked_at > 0; --looked_at) {
      entry const e = pop_plain();
      if (!e || may_go(e)) return e;
      ++came_;
      plain_.push(e.bits());
    }
    return {};
  }

  // Takes the M that has waited longest for a P, before the plain entries that precede it. nullptr: there is none.
  M* pop_m() noexcept {
    M* const m = oldest();
    if (m != nullptr) (m == for_residents_.front() ? for_residents_ : in_frames_).remove(*m);
    return m;
  }

  // The same, but only of the Ms that sleep in a goroutine's frames.
  M* pop_in_frames() noexcept { return in_frames_.pop_front(); }

 private:
  [[nodiscard]] M* oldest() const noexcept {
    M* const in_frames = in_frames_.front();
    M* const home = for_residents_.front();
    bool const home_is_older = home != nullptr && (in_frames == nullptr || home->turn < in_frames->turn);
    return home_is_older ? home : in_frames;
  }

  word_queue plain_;
  m_queue in_frames_;
  m_queue for_residents_;
  static constexpr std::uint64_t nothing_yet = 1ULL << 32U;  // not 0, because push_front counts went_ down
  std::uint64_t came_ = nothing_yet;                         // plain entries that were pushed, so far
  std::uint64_t went_ = nothing_yet;                         // plain entries that were taken, so far
};

}  // namespace thrum::rt
