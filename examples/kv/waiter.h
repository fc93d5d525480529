// A client that waits for an element of some lists: the first who comes, a giver, the end of its time or the client's own end, claims
// it, and nobody else does anything to it from then on.
#pragma once

#include <thrum/semaphore.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>

namespace kv {

enum class list_end : bool { left, right };

struct popped {
  std::string key;
  std::string element;
};

class waiter {
 public:
  explicit waiter(list_end end) noexcept : from(end) {}

  // True for one caller. relaxed: it only decides who; what he writes goes by the semaphore.
  [[nodiscard]] bool claim() noexcept { return !claimed_.exchange(true, std::memory_order_relaxed); }

  // By the one who claimed it.
  void give(popped&& what) noexcept {
    result_ = std::move(what);
    done_.release();
  }
  void cancel() noexcept { done_.release(); }

  // Nothing: the time is over, or the waiting was cancelled.
  template <class Duration>
  [[nodiscard]] std::optional<popped> wait_for(Duration time) {
    if (!done_.try_acquire_for(time) && !claim()) done_.acquire();  // somebody was faster by a hair
    return std::move(result_);
  }

  list_end const from;

 private:
  std::atomic<bool> claimed_{false};
  std::optional<popped> result_;
  thrum::semaphore done_{0};
};

}  // namespace kv
