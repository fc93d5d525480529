// What the tests of thrum::posix_locks share.
#pragma once

#include "core/current.h"
#include "os/thread.h"
#include "posix/both_ways.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

namespace thrum::test {

// Waits until `count` goroutines of the caller's run wait for a mutex or a condition variable. The caller itself does
// not.
[[nodiscard]] inline bool until_waiting(rt::wait_reason reason, int count) {
  return wait_until([&] { return waiting_for(reason) == count; });
}

inline timespec moment_from_now(clockid_t clock, std::int64_t ns) {
  timespec t{};
  ::clock_gettime(clock, &t);
  std::int64_t const at = t.tv_nsec + ns;
  constexpr std::int64_t ns_per_s = 1'000'000'000;
  t.tv_sec += at / ns_per_s;
  t.tv_nsec = at % ns_per_s;
  if (t.tv_nsec < 0) {
    t.tv_nsec += ns_per_s;
    --t.tv_sec;
  }
  return t;
}

// ThreadSanitizer reports what these tests do wrong on purpose.
#define THRUM_SKIP_WHAT_IS_WRONG() \
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer reports what is wrong on purpose"

// Its detector of deadlocks has room for 64.
#define THRUM_SKIP_SO_MANY_MUTEXES() \
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer does not bear so many mutexes in one hand"

class mutex_of_kind {
 public:
  explicit mutex_of_kind(int kind) {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    EXPECT_EQ(::pthread_mutexattr_settype(&attributes, kind), 0);
    EXPECT_EQ(::pthread_mutex_init(&it_, &attributes), 0);
    ::pthread_mutexattr_destroy(&attributes);
  }
  mutex_of_kind(mutex_of_kind const&) = delete;
  mutex_of_kind& operator=(mutex_of_kind const&) = delete;

  [[nodiscard]] pthread_mutex_t* get() { return &it_; }
  void lock() { EXPECT_EQ(::pthread_mutex_lock(&it_), 0); }
  void unlock() { EXPECT_EQ(::pthread_mutex_unlock(&it_), 0); }

 private:
  pthread_mutex_t it_{};
};

// So many goroutines that wait for the mutex, which the caller has, and unlock it again. False: they do not.
[[nodiscard]] inline bool let_wait(wait_group& all, mutex_of_kind& guarded, int count) {
  for (int i = 0; i < count; ++i) {
    all.go([&guarded] {
      guarded.lock();
      guarded.unlock();
    });
  }
  return until_waiting(rt::wait_reason::mutex, count);
}

// In which a lock keeps the thread.
class changed_mask {
 public:
  changed_mask() {
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR2);
    EXPECT_EQ(::pthread_sigmask(SIG_BLOCK, &mine, &usual_), 0);
  }
  ~changed_mask() { EXPECT_EQ(::pthread_sigmask(SIG_SETMASK, &usual_, nullptr), 0); }
  changed_mask(changed_mask const&) = delete;
  changed_mask& operator=(changed_mask const&) = delete;

 private:
  sigset_t usual_{};
};

// f, once, on a goroutine of this thread.
template <class F>
void call_on_thread(int tid, F f) {
  std::atomic<bool> was_called{false};
  EXPECT_TRUE(wait_until([&] {
    wait_group all;
    for (int i = 0; i < 2 * max_procs(); ++i) {
      all.go([&] {
        rt::os::yield_thread();  // others may take the next one
        if (rt::os::current_tid() == tid && !was_called.exchange(true)) f();
      });
    }
    all.wait();
    return was_called.load();
  }));
}

// Whether others are where this one is.
class alone {
 public:
  explicit alone(std::atomic<int>& inside) : inside_(inside) { EXPECT_EQ(++inside_, 1); }
  ~alone() { --inside_; }
  alone(alone const&) = delete;
  alone& operator=(alone const&) = delete;

 private:
  std::atomic<int>& inside_;
};

}  // namespace thrum::test
