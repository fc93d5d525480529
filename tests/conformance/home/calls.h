// A call that parks, as one of the C library would be made to: what T08 promises of it is checked here.
#pragma once

#include "core/current.h"
#include "os/thread.h"
#include "sched/home.h"
#include "support/goroutines.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <cerrno>
#include <utility>

#include <gtest/gtest.h>

namespace thrum::test {

// The address of errno, as the compiler would keep it over a call that it sees nothing of.
[[gnu::noinline]] inline int* errno_address() {
  int* where = &errno;
  asm volatile("" : "+r"(where));
  return where;
}

// f, at home. Answers the thread.
template <class F>
int call_at_home(F f) {
  int* const kept = errno_address();
  int const tid = rt::os::current_tid();
  {
    rt::at_home const here;
    f();
    EXPECT_EQ(rt::os::current_tid(), tid);
    EXPECT_EQ(errno_address(), kept);
  }
  EXPECT_EQ(rt::os::current_tid(), tid);
  return tid;
}

inline bool nobody_is_at_home() {
  rt::Sched& s = this_sched();
  lock_of_sched const guard(s.lock);
  for (rt::M const* m = s.all_ms; m != nullptr; m = m->all_link) {
    if (rt::hint_of(m->residents) != 0) return false;
  }
  return true;
}

inline bool all_procs_are_idle(rt::Sched const& s) { return s.idle_procs.load(rt::seq_cst) == s.procs.size(); }

}  // namespace thrum::test
