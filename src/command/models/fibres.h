// A small scheduler without Ps, for `thrum bench models`. It is what thrum is compared with, and no part of thrum.
//
// With one thread it is the model N:1: all fibres share a thread, so no lock is needed. With several threads it is the
// scheduler that Go gave up in version 1.1: one queue under one lock. Both use thrum's context switch, so differences
// come from the scheduling alone.
//
// Invariants:
//  1. At most `threads` fibres run at a time. A fibre inside blocking() does not count, and another thread takes its
//     place. With one thread blocking() announces nothing, because there is no other thread.
//  2. A fibre that parks keeps its lock until it has left its stack. The waker holds that lock while it takes the fibre
//     out of a list of waiters, so no thread resumes a fibre that is still on its stack.
//
// A fibre must not let an exception escape, and must not switch inside a catch block.
#pragma once

#include "arch/context.h"
#include "base/lock_rank.h"
#include "os/lock.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace thrum::command {

struct fibre {
  rt::context own{};
  char* memory = nullptr;  // the mapping of its stack, in whose last bytes the fibre itself lies
  std::function<void()> body{};
};

class fibre_scheduler {
 public:
  explicit fibre_scheduler(unsigned threads);
  ~fibre_scheduler();
  fibre_scheduler(fibre_scheduler const&) = delete;
  fibre_scheduler& operator=(fibre_scheduler const&) = delete;

  // Runs main as a fibre. All fibres have to end before main does.
  void run(std::function<void()> main);

  // The scheduler of the calling fibre.
  [[nodiscard]] static fibre_scheduler& current() noexcept;

  void start(std::function<void()> body);
  // Lets other threads run fibres during the call.
  void blocking(std::function<void()> const& call);
  [[nodiscard]] bool has_one_thread() const noexcept { return limit_ == 1; }

  // For fibre_lock and fibre_condition.
  [[nodiscard]] static fibre* running() noexcept;
  void park(std::function<void()> const& when_parked);
  void ready(fibre& waiter);

 private:
  struct worker;
  [[nodiscard]] static worker*& here() noexcept;
  static void enter();
  void work();
  [[nodiscard]] fibre* next(std::unique_lock<std::mutex>& held);
  [[nodiscard]] fibre* make_fibre();
  static void prepare(fibre& one);
  void put(fibre& one);
  void add_thread();
  [[nodiscard]] std::unique_lock<std::mutex> lock() {
    return has_one_thread() ? std::unique_lock<std::mutex>(mutex_, std::defer_lock) : std::unique_lock(mutex_);
  }

  unsigned const limit_;
  std::mutex mutex_;
  // under mutex_
  std::condition_variable work_came_;
  std::condition_variable main_ended_;
  std::deque<fibre*> queue_;
  std::vector<fibre*> ended_;  // their stacks are used again
  std::vector<fibre*> all_;
  std::vector<std::thread> threads_;
  unsigned busy_ = 0;  // threads that run a fibre which is not inside blocking()
  unsigned idle_ = 0;  // threads that wait for work_came_
  bool is_over_ = false;
};

// A mutex for data of fibres. It is held for moments only. A fibre that parks may hold it until it has left its stack.
class fibre_lock {
 public:
  void lock() {
    if (is_needed_) lock_.acquire();
  }
  void unlock() {
    if (is_needed_) lock_.release();
  }

 private:
  bool const is_needed_ = !fibre_scheduler::current().has_one_thread();
  // Not a std::mutex, because the fibre takes it and the code that runs after the switch releases it.
  rt::os::lock lock_{rt::lock_rank::leaf};
};

// As std::condition_variable_any. The notifier holds the lock.
class fibre_condition {
 public:
  template <class Condition>
  void wait(std::unique_lock<fibre_lock>& held, Condition is_met) {
    while (!is_met()) {
      waiters_.push_back(fibre_scheduler::running());
      fibre_scheduler::current().park([&] { held.mutex()->unlock(); });
      held.mutex()->lock();
    }
  }
  void notify_one() {
    if (waiters_.empty()) return;
    fibre& first = *waiters_.front();
    waiters_.pop_front();
    fibre_scheduler::current().ready(first);
  }

 private:
  std::deque<fibre*> waiters_;
};

}  // namespace thrum::command
