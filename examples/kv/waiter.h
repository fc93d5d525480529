// A client that waits for an element of some lists. The wait is ended by another client that gives an element, by the
// timeout, or by the end of the connection. The first of these claims the waiter, and the others then leave it alone.
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

  // Returns true for exactly one caller. relaxed, because this only decides which caller wins; the semaphore publishes
  // what that caller writes.
  [[nodiscard]] bool claim() noexcept { return !claimed_.exchange(true, std::memory_order_relaxed); }

  // To be called only after claim() has returned true.
  void give(popped&& what) noexcept {
    result_ = std::move(what);
    done_.release();
  }
  void cancel() noexcept { done_.release(); }

  // Returns nothing if the time is over or the wait was cancelled.
  template <class Duration>
  [[nodiscard]] std::optional<popped> wait_for(Duration time) {
    if (!done_.try_acquire_for(time) && !claim()) done_.acquire();  // if claim() fails, another goroutine was faster
    return std::move(result_);
  }

  list_end const from;

 private:
  std::atomic<bool> claimed_{false};
  std::optional<popped> result_;
  thrum::semaphore done_{0};
};

}  // namespace kv
