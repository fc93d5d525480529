// The global run queue, first in, first out (S09, S11).
//
// It consists of three lists:
//
//  - plain entries: goroutines that any M may run;
//  - locked entries: goroutines that can continue only on their own thread, which sleeps in their frames. They are
//    linked through G::link, so the oldest of them can be taken before its turn (T05), and queueing one needs no
//    memory;
//  - called Ms: Ms that rest while goroutines that are at home there are runnable (sched/home.h). When the turn of such
//    an M comes, the first of these goroutines is returned, as a locked entry.
//
// The M of a locked entry, and a called M, remembers in M::turn how many plain entries had come before. Its turn comes
// when as many plain entries have gone.
//
// Not synchronised: it is accessed under sched.lock.
#pragma once

#include "core/blocks.h"
#include "core/entry.h"
#include "core/m.h"

#include <cstdint>

namespace thrum::rt {

class global_run_queue {
 public:
  // Makes room for so many plain entries. Returns false if there is no memory.
  [[nodiscard]] bool reserve(std::size_t entries) noexcept { return plain_.reserve(entries); }
  [[nodiscard]] std::uint32_t size() const noexcept { return plain_.size() + locked_.size() + called_; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] bool has_plain() const noexcept { return !plain_.empty(); }
  [[nodiscard]] bool has_locked_or_called() const noexcept { return !locked_.empty() || called_ != 0; }

  void push(entry e) noexcept {
    if (e.is_locked()) {
      e.g()->locked_to->turn = came_;
      locked_.push_back(*e.g());
    } else {
      ++came_;
      plain_.push(e.bits());
    }
  }

  // Puts e before all others.
  void push_front(entry e) noexcept {
    if (e.is_locked()) {
      e.g()->locked_to->turn = went_;
      locked_.push_front(*e.g());
    } else {
      --went_;  // the entries that stand here come after it
      plain_.push_front(e.bits());
    }
  }

  // Whether pop would return a locked entry.
  [[nodiscard]] bool next_is_locked() const noexcept {
    G const* const first = locked_.front();
    return (first != nullptr && first->locked_to->turn <= went_) || (calls_ != nullptr && calls_->turn <= went_);
  }

  entry pop() noexcept { return next_is_locked() ? entry::locked(pop_locked()) : pop_plain(); }

  // Takes the first plain entry.
  entry pop_plain() noexcept {
    if (plain_.empty()) return {};
    ++went_;
    return entry::from_bits(plain_.pop());
  }

  // Takes the goroutine that has waited longest for its own thread, before the plain entries that precede it. nullptr:
  // there is none.
  G* pop_locked() noexcept {
    G const* const first = locked_.front();
    bool const is_called = calls_ != nullptr && (first == nullptr || calls_->turn < first->locked_to->turn);
    return is_called ? pop_called() : locked_.pop_front();
  }

  // The same, but only of the locked entries, whose threads sleep in their frames.
  G* pop_in_its_frames() noexcept { return locked_.pop_front(); }

  // call: puts m into the queue, to wait for a P; it has goroutines in its inbox. uncall: takes it out.
  void call(M& m) noexcept {
    m.is_called = true;
    m.turn = came_;
    m.call_link = nullptr;
    M** link = &calls_;
    while (*link != nullptr) link = &(*link)->call_link;
    *link = &m;
    ++called_;
  }
  void uncall(M& m) noexcept {
    M** link = &calls_;
    while (*link != &m) link = &(*link)->call_link;
    *link = m.call_link;
    m.is_called = false;
    --called_;
  }
  [[nodiscard]] M* first_called() const noexcept { return calls_; }

 private:
  G* pop_called() noexcept {
    M& m = *calls_;
    uncall(m);
    m.ready_at_home.fetch_sub(1U, relaxed);  // relaxed: the list is under the lock
    return m.home_inbox.pop_front();
  }

  word_queue plain_;
  g_list locked_;
  M* calls_ = nullptr;                                      // called Ms; there are few
  std::uint32_t called_ = 0;                                // their number
  static constexpr std::uint64_t nobody_yet = 1ULL << 32U;  // not 0, because push_front counts went_ down
  std::uint64_t came_ = nobody_yet;                         // plain entries that were pushed, so far
  std::uint64_t went_ = nobody_yet;                         // plain entries that were taken, so far
};

}  // namespace thrum::rt
