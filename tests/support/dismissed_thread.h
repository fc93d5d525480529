// A foreign thread that has read its M, and that the end of the run dismisses before it enters the runtime (S38).
#pragma once

#include "core/current.h"
#include "support/kept.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

namespace thrum::test {

// Calls `act` on such a thread. `prepare` is called by main. A goroutine that computes keeps the run from ending
// meanwhile.
inline void act_as_run_ends(std::function<void()> const& prepare, std::function<void()> const& act) {
  struct shared {
    std::function<void()> act;
    std::atomic<rt::M*> seat{nullptr};
    std::atomic<bool> may_end{false};
    std::atomic<bool> came_back{false};
  };
  auto& both = kept<shared>();
  both.act = act;
  std::thread([&both] {
    rt::M* m = nullptr;
    while ((m = rt::callers_m()) == nullptr) std::this_thread::yield();
    both.seat = m;
    // acquire pairs with dismiss_threads, which has also written this thread's variable of the current M
    while (!m->run_is_over.load(rt::acquire)) std::this_thread::yield();
    rt::set_current_m(m);
    both.act();
    rt::set_current_m(nullptr);
    both.came_back = true;
  }).detach();
  run_with({.max_procs = 2, .async_preemption = false}, [&] {
    prepare();
    auto& computes = kept<std::atomic<bool>>(false);
    go([&both, &computes] {
      computes = true;
      while (!both.may_end) rt::cpu_relax();
    });
    EXPECT_TRUE(wait_until([&] { return both.seat != nullptr && computes; }));
  });
  both.may_end = true;
  EXPECT_TRUE(wait_until([&] { return both.came_back.load(); })) << "the foreign thread has not come back";
}

}  // namespace thrum::test
