// Unstarted goroutines for which there was no memory for a stack (sched/stack_wait.h). There is one list for each size
// class of stacks, in which the goroutine that has waited longest is the first. Everything is under sched.lock, except
// where a comment says otherwise.
#pragma once

#include "base/atomic.h"
#include "core/entry.h"
#include "stack/stack_pool.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace thrum::rt {

class stack_waiters {
 public:
  // Any thread. relaxed: the lists are under the lock. A thread that frees a stack sees the goroutine here or at its
  // next safe point.
  [[nodiscard]] bool any() const noexcept { return count_.load(relaxed) != 0; }

  // nullptr: no goroutine waits for a stack of this class.
  [[nodiscard]] G* first(std::size_t size_class) const noexcept { return lists_[size_class].front(); }
  void add(G& g, std::size_t size_class) noexcept {
    lists_[size_class].push_back(g);
    count_.store(count_.load(relaxed) + 1, relaxed);
  }
  // The first goroutine has got a stack.
  G& take_first(std::size_t size_class) noexcept {
    count_.store(count_.load(relaxed) - 1, relaxed);
    return *lists_[size_class].pop_front();
  }

  // Lives while a thread that is no M takes free stacks out of the pool, and puts them back. A goroutine that finds no
  // stack meanwhile waits, but not for good: the thread starts it afterwards. So the check for a deadlock reports
  // nothing while such a thread exists, and the thread repeats the check. Any thread.
  class [[nodiscard]] helper {
   public:
    // seq_cst: the thread is seen before it takes the lock of the pool
    explicit helper(stack_waiters& all) noexcept : all_(all) { all_.helpers_.fetch_add(1, seq_cst); }
    ~helper() { all_.helpers_.fetch_sub(1, seq_cst); }
    helper(helper const&) = delete;
    helper& operator=(helper const&) = delete;

   private:
    stack_waiters& all_;
  };
  // The fence pairs with the one that follows the end of a helper.
  [[nodiscard]] bool are_helped() const noexcept {
    store_load_fence();
    return helpers_.load(seq_cst) != 0;
  }

 private:
  std::array<g_list, stack_pool::classes> lists_;
  atomic<std::uint32_t> count_{0};  // in all lists; written under the lock
  atomic<std::int32_t> helpers_{0};
};

}  // namespace thrum::rt
