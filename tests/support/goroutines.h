// Functions for tests that read or change the inner state of goroutines and of the scheduler that runs.
#pragma once

#include "core/current.h"
#include "core/sched.h"
#include "sched/runnable.h"
#include "sched/timers.h"
#include <thrum/detail/callable.h>
#include <thrum/go.h>
#include <thrum/mutex.h>
#include <thrum/wait_group.h>

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace thrum::test {

inline rt::Sched& this_sched() { return rt::current_m()->sched; }
// The calling goroutine is inside the runtime, with a P, while this object lives.
class inside_runtime {
 public:
  inside_runtime() { rt::enter_runtime(m_); }
  ~inside_runtime() { rt::leave_runtime(m_); }
  inside_runtime(inside_runtime const&) = delete;
  inside_runtime& operator=(inside_runtime const&) = delete;

 private:
  rt::M& m_ = *rt::current_m();
};

inline rt::P& this_p() {
  rt::M& m = *rt::current_m();
  if (m.in_runtime.load(rt::relaxed)) return *m.p;
  inside_runtime const inside;  // sysmon may have taken the P, if the thread slept in the kernel
  return *m.p;
}
// Holds a lock of the scheduler on a goroutine. It sets the mark, because a goroutine that is paused while it holds the
// lock would stop all threads.
class lock_of_sched {
 public:
  explicit lock_of_sched(rt::os::lock& lock) : guard_(lock) {}

 private:
  rt::runtime_mark const mark_;
  rt::os::lock_guard const guard_;
};

inline rt::G& this_g() { return *rt::current_m()->current; }

// Makes a goroutine as `go` does, but puts it into no queue. It runs after it is passed to inject_all.
template <class F>
rt::G& make_unqueued(F f) {
  using call = detail::detached_call<F>;
  detail::task& made = detail::new_task(detail::joinable::no, 0);
  detail::store<call>(made, std::move(f));
  made.step = &call::step;
  rt::G& g = rt::G::of(made);
  g.transition(rt::g_status::dead, rt::g_status::unstarted);
  rt::count(this_p().counters.created);
  return g;
}

enum class inject_from : bool { this_p, nowhere };

// Does what the poller or a timer does with a list of goroutines that became runnable.
inline void inject_all(rt::g_list& list, inject_from where) {
  rt::M& m = *rt::current_m();
  rt::enter_runtime(m);
  rt::inject(m.sched, where == inject_from::this_p ? &m : nullptr, list);
  rt::leave_runtime(m);
}

// True if a goroutine waits on this wait_group or once and has left its stack. The goroutine enters the bucket under
// the bucket's lock, and the lock is released only after it has left its stack. Its status is `waiting` a little
// earlier.
inline bool goroutine_is_parked_on(void const* object) {
  rt::runtime_mark const mark;
  rt::wait_bucket& bucket = this_sched().waiters.bucket_of(object);
  bucket.acquire();
  bool const waits = bucket.has_waiters(object);
  bucket.release();
  return waits;
}

// Counts the goroutines that wait for this reason. Each of them is in a queue. It has left its stack, or holds the
// queue's lock until it has.
inline int waiting_for(rt::wait_reason reason) {
  rt::runtime_mark const mark;
  int waiting = 0;
  this_sched().records.for_each_g([&](rt::G const& g) {
    if (g.status.load(rt::relaxed) == rt::g_status::waiting && rt::hint_of(g.waits_for) == reason) ++waiting;
  });
  return waiting;
}

// The same for a mutex, whose waiters are found under the address of a byte inside it (mutex::key).
inline bool goroutine_is_parked_on(mutex const* object) {
  return goroutine_is_parked_on(static_cast<void const*>(reinterpret_cast<char const*>(object) + 1));
}

// Makes a goroutine that waits for a mutex while this object lives.
class waiter_for_mutex {
 public:
  waiter_for_mutex() {
    held_.lock();
    all_.go([this] {
      g_ = &this_g();
      held_.lock();
      held_.unlock();
    });
  }
  ~waiter_for_mutex() {
    held_.unlock();
    all_.wait();
  }
  waiter_for_mutex(waiter_for_mutex const&) = delete;
  waiter_for_mutex& operator=(waiter_for_mutex const&) = delete;

  [[nodiscard]] bool is_parked() const { return goroutine_is_parked_on(&held_); }
  [[nodiscard]] rt::G const& g() const { return *g_.load(); }  // valid when is_parked()

 private:
  mutex held_;
  wait_group all_;
  std::atomic<rt::G*> g_{nullptr};
};

// Counts the sleeps and timers in the heaps of all Ps.
inline rt::p_timers::sizes timers_of_all() {
  rt::runtime_mark const mark;  // because a heap has a lock
  rt::p_timers::sizes sum{};
  for (auto const& p : this_sched().procs) {
    auto const [entries, dead] = p->timers.count();
    sum.entries += entries;
    sum.dead += dead;
  }
  return sum;
}

// The number of timers that are going to fire.
inline std::uint32_t timers_pending() {
  auto const [entries, dead] = timers_of_all();
  return entries - dead;
}

// Yields until the next turn of the global queue is more than `ticks` ticks away. No other goroutine may be runnable on
// this P.
inline void stay_clear_of_the_global_turn(std::uint32_t ticks) {
  while (this_p().ticks_to_global <= ticks) thrum::yield();
}

// Moves the main goroutine from M0 to another M.
inline void leave_m0() {
  while (rt::current_m()->id == 0) {
    auto other = thrum::spawn([] {});
    thrum::yield();
    other.join();
  }
}

// True if no M has residents (sched/home.h).
[[nodiscard]] inline bool no_goroutine_is_at_home() {
  rt::Sched& s = this_sched();
  lock_of_sched const guard(s.lock);
  return s.ms.all().find([](rt::M const& m) { return m.residents.any(); }) == nullptr;
}

}  // namespace thrum::test
