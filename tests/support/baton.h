// A baton is the smallest object that a goroutine can wait for. It is made of the scheduler's own park and ready, as
// every primitive is.
//
//   baton b;  b.pass();  // here it is          b.take();  // waits until a goroutine has passed it
//
// There is one taker at a time, and one pass() per take(). The word is `empty`, `lying` (it was passed and no
// goroutine has taken it), or the G that waits. The waiter stores its G in the commit step of its park, because earlier
// it could be readied while it runs.
#pragma once

#include "base/atomic.h"
#include "base/check.h"
#include "core/current.h"
#include "sched/park.h"

#include <cstdint>

namespace thrum::test {

class baton {
 public:
  void take() {
    rt::M* m = rt::current_m();
    rt::enter_runtime(*m);
    std::uintptr_t seen = lying;
    // acquire: what the passer did before is visible
    if (!word_.compare_exchange(seen, empty, rt::acquire, rt::relaxed)) {
      m = &rt::park(*m, rt::wait_reason::semaphore, commit, this, rt::commit_holds::nothing);
    }
    rt::leave_runtime(*m);
  }

  void pass() {
    rt::M& m = *rt::current_m();
    rt::enter_runtime(m);
    std::uintptr_t seen = empty;
    if (!word_.compare_exchange(seen, lying, rt::acq_rel, rt::acquire)) {
      THRUM_CHECK(seen != lying);
      word_.store(empty, rt::relaxed);  // the woken one is ordered by its queue
      rt::ready(m, *reinterpret_cast<rt::G*>(seen));
    }
    rt::leave_runtime(m);
  }

 private:
  static constexpr std::uintptr_t empty = 0;
  static constexpr std::uintptr_t lying = 1;

  static void commit(rt::M& m, rt::G& left, void* argument) noexcept {
    auto& word = static_cast<baton*>(argument)->word_;
    std::uintptr_t seen = empty;
    // release: the G has left its stack before the passer can see it
    if (word.compare_exchange(seen, reinterpret_cast<std::uintptr_t>(&left), rt::acq_rel, rt::acquire)) return;
    word.store(empty, rt::relaxed);  // it was passed meanwhile, and only this thread looks at the word
    rt::ready(m, left);
  }

  rt::atomic<std::uintptr_t> word_{empty};
};

}  // namespace thrum::test
