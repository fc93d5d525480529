// The global run queue: one line, first come first served (S09, S11).
//
// In it stand goroutines that any M may run, and such as go on only on their own thread, which sleeps in their frames
// (locked entries). The latter have a list of their own, through their link word: so the oldest of them can be had before
// its turn (T05), and queueing one needs no memory. Each of their Ms remembers how many plain entries had come before it;
// its turn is when as many have gone.
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
  [[nodiscard]] std::uint32_t size() const noexcept { return plain_.size() + locked_.size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] bool has_plain() const noexcept { return !plain_.empty(); }
  [[nodiscard]] bool has_locked() const noexcept { return !locked_.empty(); }

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
    return first != nullptr && first->locked_to->turn <= went_;
  }

  entry pop() noexcept { return next_is_locked() ? entry::locked(locked_.pop_front()) : pop_plain(); }

  // The same for plain entries only.
  entry pop_plain() noexcept {
    if (plain_.empty()) return {};
    ++went_;
    return entry::from_bits(plain_.pop());
  }

  // The one that has waited longest for its own thread, whoever stands before it. nullptr: there is none.
  G* pop_locked() noexcept { return locked_.pop_front(); }

 private:
  word_queue plain_;
  g_list locked_;
  static constexpr std::uint64_t nobody_yet = 1ULL << 32U;  // room for those that go back to the front
  std::uint64_t came_ = nobody_yet;                         // plain entries, so far
  std::uint64_t went_ = nobody_yet;
};

}  // namespace thrum::rt
