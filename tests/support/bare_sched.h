// A scheduler without threads. Its Ps are held by Ms that have no threads, and the test calls its functions step by
// step on its own thread. Only functions that need neither a goroutine stack nor a thread can be called: queues,
// searches, lists.
#pragma once

#include "core/m.h"
#include "core/sched.h"
#include "sched/queues.h"
#include "support/fake_gs.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {

class bare_sched {
 public:
  explicit bare_sched(int procs, std::uint32_t capacity = rt::run_queue_capacity_max, std::uint64_t seed = 1)
      : bare_sched({.procs = procs, .run_queue_capacity = capacity, .detect_deadlock = false, .seed = seed}) {}

  explicit bare_sched(rt::settings const& chosen) : s_(std::make_unique<rt::Sched>(chosen)) {
    int const procs = chosen.procs;
    EXPECT_TRUE(s_->global_queue.reserve(100'000) && s_->records.reserve(100'000));
    for (int i = 0; i < procs; ++i) {
      p(i).transition(rt::p_status::stopped, rt::p_status::running);
      ms_.push_back(std::make_unique<rt::M>(*s_, i + 1));
      s_->ms.add(*ms_.back());
      s_->ms.has_started(*ms_.back());
      rt::acquire_p(*ms_.back(), p(i));
      p(i).ticks_to_global = 30;  // halfway between two turns of the global queue
    }
  }

  rt::Sched& operator*() { return *s_; }
  rt::Sched* operator->() { return s_.get(); }
  rt::P& p(int number) { return *s_->procs[static_cast<std::size_t>(number)]; }
  rt::M& m(int number) { return *ms_[static_cast<std::size_t>(number)]; }  // the holder of P `number`

  // Puts P `number` into the idle list and its M among the idle Ms, as if the M were asleep.
  void make_idle(int number) {
    rt::os::lock_guard const guard(s_->lock);
    m(number).p = nullptr;
    s_->idle.put(p(number));
    s_->ms.rest(m(number), 0);
  }

  void put_global(rt::entry e) {
    rt::os::lock_guard const guard(s_->lock);
    rt::put_global_locked(test::push, *s_, e);
  }

  // Empties the queue and returns the numbers of the goroutines that were in it.
  std::vector<long> drain_global() {
    std::vector<long> left;
    rt::os::lock_guard const guard(s_->lock);
    while (rt::global_turn const turn = rt::take_global_one_locked(*s_, p(0))) left.push_back(number_of(turn.plain));
    return left;
  }
  std::vector<long> drain_run_queue(int number) {
    std::vector<long> left;
    while (rt::entry const e = p(number).queue.pop()) left.push_back(number_of(e));
    return left;
  }

 private:
  std::unique_ptr<rt::Sched> s_;
  std::vector<std::unique_ptr<rt::M>> ms_;
};

}  // namespace thrum::test
