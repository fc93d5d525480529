// The four models behind one interface, so that the jobs are written once. Each is a type with
//   run(threads, main)   runs main as a task of the model
//   group                starts tasks and waits until they have ended; a task may own one. If a task cannot be started,
//                        the process gives up
//   channel              of numbers, with room for one
//   blocking(call)       for a call that blocks its thread
#pragma once

#include "command/models/fibres.h"
#include "command/models/give_up.h"
#include <thrum/blocking.h>
#include <thrum/chan.h>
#include <thrum/run.h>
#include <thrum/wait_group.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace thrum::command {

// A channel of a mutex and two conditions, for threads and for fibres.
template <class Lock, class Condition>
class locked_channel {
 public:
  void send(std::uint64_t value) {
    std::unique_lock held(lock_);
    has_room_.wait(held, [&] { return !value_; });
    value_ = value;
    has_value_.notify_one();
  }
  std::uint64_t receive() {
    std::unique_lock held(lock_);
    has_value_.wait(held, [&] { return value_.has_value(); });
    std::uint64_t const value = *std::exchange(value_, std::nullopt);
    has_room_.notify_one();
    return value;
  }

 private:
  Lock lock_;
  std::optional<std::uint64_t> value_;
  Condition has_value_;
  Condition has_room_;
};

// 1:1, a thread for each task.
struct threads_alone {
  template <class Main>
  static void run(unsigned, Main main) {
    main();
  }
  class group {
   public:
    template <class Task>
    void start(Task task) {
      start_or_give_up([&] { threads_.emplace_back(std::move(task)); });
    }
    void wait() {
      for (std::thread& each : threads_) each.join();
      threads_.clear();
    }

   private:
    std::vector<std::thread> threads_;
  };
  using channel = locked_channel<std::mutex, std::condition_variable>;
  template <class Call>
  static void blocking(Call call) {
    call();
  }
};

// N:1 with one thread; with several threads one locked queue.
struct fibres_without_ps {
  template <class Main>
  static void run(unsigned threads, Main main) {
    fibre_scheduler(threads).run(std::move(main));
  }
  class group {
   public:
    template <class Task>
    void start(Task task) {
      {
        std::scoped_lock const held(lock_);
        ++running_;
      }
      start_or_give_up([&] {
        fibre_scheduler::current().start([this, task = std::move(task)]() mutable {
          task();
          std::scoped_lock const held(lock_);
          if (--running_ == 0) all_ended_.notify_one();
        });
      });
    }
    void wait() {
      std::unique_lock held(lock_);
      all_ended_.wait(held, [&] { return running_ == 0; });
    }

   private:
    fibre_lock lock_;
    fibre_condition all_ended_;
    std::uint64_t running_ = 0;
  };
  using channel = locked_channel<fibre_lock, fibre_condition>;
  template <class Call>
  static void blocking(Call call) {
    fibre_scheduler::current().blocking(call);
  }
};

// M:N with Ps.
struct goroutines {
  template <class Main>
  static void run(unsigned threads, Main main) {
    thrum::run(std::move(main), {.max_procs = static_cast<int>(threads)});
  }
  class group {
   public:
    template <class Task>
    void start(Task task) {
      start_or_give_up([&] { all_.go(std::move(task)); });
    }
    void wait() { all_.wait(); }

   private:
    wait_group all_;
  };
  class channel {
   public:
    void send(std::uint64_t value) { values_.send(value); }
    std::uint64_t receive() { return *values_.recv(); }

   private:
    chan<std::uint64_t> values_{1};
  };
  template <class Call>
  static void blocking(Call call) {
    thrum::blocking(call);
  }
};

}  // namespace thrum::command
