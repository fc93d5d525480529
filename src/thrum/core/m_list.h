// Lists of Ms. Each list has a link of its own in M, so an M can stand in several lists. The caller holds sched.lock,
// except where a list belongs to one thread.
#pragma once

#include "core/m.h"

#include <utility>

namespace thrum::rt {

// The M that came last is the first one.
template <m_link M::*Link>
class m_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void push(M& m) noexcept { (m.*Link).next_ = std::exchange(first_, &m); }
  // nullptr: the list is empty.
  [[nodiscard]] M* pop() noexcept {
    M* const m = first_;
    if (m != nullptr) first_ = std::exchange((m->*Link).next_, nullptr);
    return m;
  }
  // Leaves this list empty.
  [[nodiscard]] m_list take_all() noexcept { return std::exchange(*this, {}); }
  // Removes the Ms for which `is_to_go` returns true. An M may be in another list then.
  template <class F>
  void remove_if(F is_to_go) noexcept {
    for (m_list old = take_all(); M* const m = old.pop();) {
      if (!is_to_go(*m)) push(*m);
    }
  }

 private:
  M* first_ = nullptr;
};

// A list out of which any M can be taken.
template <m_links M::*Links>
class m_chain {
 public:
  [[nodiscard]] M* first() const noexcept { return first_; }
  [[nodiscard]] static M* next(M const& m) noexcept { return (m.*Links).next_; }

  // m comes to stand before `behind`; nullptr: at the end.
  void insert_before(M* behind, M& m) noexcept {
    connect(behind != nullptr ? (behind->*Links).back_ : last_, &m);
    connect(&m, behind);
  }
  void remove(M& m) noexcept { connect((m.*Links).back_, (m.*Links).next_); }

 private:
  // nullptr stands for either end of the list.
  void connect(M* before, M* behind) noexcept {
    (before != nullptr ? (before->*Links).next_ : first_) = behind;
    (behind != nullptr ? (behind->*Links).back_ : last_) = before;
  }

  M* first_ = nullptr;
  M* last_ = nullptr;
};

// Ms whose threads have to be made.
using ordered_ms = m_list<&M::order_link>;

// Ms that were told to end, and whose notes have to be woken when sched.lock is released.
class ms_to_end : m_list<&M::end_link> {
 public:
  using m_list::push;
  void wake_all() noexcept {
    while (M* const m = pop()) m->wake_note.wake();
  }
};

// The Ms that a run has made up to a moment, the newest first. The links behind an M do not change, so threads may walk
// the list without a lock, if they have got it under sched.lock (all_ms_now in core/sched.h).
//
//   for (M& m : s.ms.all()) ...
class all_ms {
 public:
  class iterator {
   public:
    iterator() = default;  // the end
    explicit iterator(M* at) noexcept : at_(at) {}
    M& operator*() const noexcept { return *at_; }
    M* operator->() const noexcept { return at_; }
    iterator& operator++() noexcept {
      at_ = at_->all_link;
      return *this;
    }
    bool operator==(iterator const& other) const noexcept = default;

   private:
    M* at_ = nullptr;
  };

  explicit all_ms(M* newest) noexcept : newest_(newest) {}
  [[nodiscard]] iterator begin() const noexcept { return iterator(newest_); }
  [[nodiscard]] static iterator end() noexcept { return {}; }

  // The newest M for which `is_wanted` returns true. nullptr: there is none.
  template <class F>
  [[nodiscard]] M* find(F is_wanted) const noexcept {
    for (M& m : *this) {
      if (is_wanted(m)) return &m;
    }
    return nullptr;
  }

 private:
  M* newest_;
};

}  // namespace thrum::rt
