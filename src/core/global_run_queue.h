// The global run queue: one line, first come first served (S09, S11).
//
// In it stand goroutines that any M may run, and such as go on only on their own thread, which sleeps in their frames
// (locked entries). The latter have a list of their own, through their link word: so the oldest of them can be had before
// its turn (T05), and queueing one needs no memory. Each of their Ms remembers how many plain entries had come before it;
// its turn is when as many have gone.
//
// An M that rests while goroutines that are at home there are runnable (sched/home.h) stands here itself, in a third list, with a
// turn like those. When it comes, the first of these goroutines is answered, as a locked entry.
#pragma once

#include "core/blocks.h"
#include "core/entry.h"
#include "core/m.h"

#include <cstdint>

namespace thrum::rt {

class global_run_queue {
 public:
  // Room for so many plain entries.
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

  // Before all others.
  void push_front(entry e) noexcept {
    if (e.is_locked()) {
      e.g()->locked_to->turn = went_;
      locked_.push_front(*e.g());
    } else {
      --went_;  // whoever stands here comes after it
      plain_.push_front(e.bits());
    }
  }

  // Whether pop would answer a locked entry.
  [[nodiscard]] bool next_is_locked() const noexcept {
    G const* const first = locked_.front();
    return (first != nullptr && first->locked_to->turn <= went_) || (calls_ != nullptr && calls_->turn <= went_);
  }

  entry pop() noexcept { return next_is_locked() ? entry::locked(pop_locked()) : pop_plain(); }

  // The same for plain entries only.
  entry pop_plain() noexcept {
    if (plain_.empty()) return {};
    ++went_;
    return entry::from_bits(plain_.pop());
  }

  // The one that has waited longest for its own thread, whoever stands before it. nullptr: there is none.
  G* pop_locked() noexcept {
    G const* const first = locked_.front();
    bool const is_called = calls_ != nullptr && (first == nullptr || calls_->turn < first->locked_to->turn);
    return is_called ? pop_called() : locked_.pop_front();
  }

  // The same among those whose thread sleeps in their frames.
  G* pop_in_its_frames() noexcept { return locked_.pop_front(); }

  // m stands here for a P from now on, and has goroutines in its inbox; and does no longer.
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
    m.ready_at_home.fetch_sub(1U, relaxed);  // the list is under the lock
    return m.home_inbox.pop_front();
  }

  word_queue plain_;
  g_list locked_;
  M* calls_ = nullptr;                                      // as many as rest with runnable goroutines at home: few
  std::uint32_t called_ = 0;                                // their number
  static constexpr std::uint64_t nobody_yet = 1ULL << 32U;  // room for those that go back to the front
  std::uint64_t came_ = nobody_yet;                         // plain entries, so far
  std::uint64_t went_ = nobody_yet;
};

}  // namespace thrum::rt
